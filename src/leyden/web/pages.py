"""The definition of a page: an entry in a table, served by site.py."""

from enum import Enum, auto
from typing import Literal, get_type_hints

from msgspec.structs import force_setattr

from leyden.domain.sign_in import Right
from leyden.values import Struct
from leyden.web.visits import Handler, ReadVisit, Shows


class Who(Enum):
    """The audience of a page that belongs to no organization."""

    ANYONE = auto()
    PERSON = auto()  # everybody who is signed in
    OPERATOR = auto()  # operators of this installation


class Page(Struct, frozen=True):
    """A page: its method, path, handler and required right."""

    method: Literal["GET", "POST"]
    path: str
    run: Handler | Shows
    needs: Right | Who
    # Its form may come from other programs: its address has a word of its own.
    from_anywhere: bool = False
    cacheable: bool = False  # its handler is given a ReadVisit, and no more

    def __post_init__(self) -> None:
        reads_only = ReadVisit in get_type_hints(self.run).values()
        # What is frozen is filled in through the back door, once, here.
        force_setattr(self, "cacheable", reads_only)
