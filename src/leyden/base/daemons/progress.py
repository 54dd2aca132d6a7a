"""Progress events of a build."""

from collections.abc import Callable
from enum import StrEnum, auto

from leyden.values import Struct


class BuildState(StrEnum):
    """The build state of a program."""

    WAITING = auto()  # another process builds it at this moment
    DOWNLOADING = auto()  # its release archive
    DOWNLOADED = auto()
    ABSENT = auto()  # its release archive, so its sources are taken
    FETCHING = auto()  # its sources are being downloaded
    BUILDING = auto()
    BUILT = auto()  # now, by us
    READY = auto()  # it was there already


class BuildStep(Struct, frozen=True, kw_only=True):
    """One progress line about one program."""

    program: str  # "lnd 0.20.2-beta"
    state: BuildState
    seconds: float = 0.0
    size: int = 0  # bytes, once it is there
    why: str = ""


Progress = Callable[[BuildStep], None]


def quiet(_: BuildStep) -> None:
    """Ignore progress events."""
