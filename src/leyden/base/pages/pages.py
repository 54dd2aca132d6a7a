"""The definition of a page: an entry in a table, served by site.py."""

from enum import Enum, auto
from typing import Literal

from leyden.base.pages.visits import Handler
from leyden.base.rules.sign_in import Right
from leyden.values import Struct


class Who(Enum):
    """The audience of a page that belongs to no organization."""

    ANYONE = auto()
    PERSON = auto()  # everybody who is signed in
    OPERATOR = auto()  # operators of this installation


class Page(Struct, frozen=True):
    """A page: its method, path, handler and required right."""

    method: Literal["GET", "POST"]
    path: str
    run: Handler
    needs: Right | Who
    # Its form may come from other programs: its address has a word of its own.
    from_anywhere: bool = False
