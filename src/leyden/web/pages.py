"""What a page is: a line in a table, answered by site.py."""

from enum import Enum, auto
from typing import Literal

from leyden.domain.sign_in import Right
from leyden.values import Struct
from leyden.web.visits import Handler


class Who(Enum):
    """Whom a page is for, where it is not of one organization."""

    ANYONE = auto()
    PERSON = auto()  # whoever is signed in
    OPERATOR = auto()  # whoever runs this installation


class Page(Struct, frozen=True):
    """One address, and what is done there."""

    method: Literal["GET", "POST"]
    path: str
    run: Handler
    needs: Right | Who
