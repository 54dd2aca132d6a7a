"""Filter lines of lnd's log by level and text.

A line without a level continues the one before it: a message of several lines, or a
stack trace.
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from leyden.values import Struct

_LINE: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[([A-Z]{3})\] ")


class Level(IntEnum):
    """A log level of lnd, named by its three letters."""

    TRC = 0
    DBG = 1
    INF = 2
    WRN = 3
    ERR = 4
    CRT = 5


class LogLine(Struct, frozen=True):
    """A line and its level."""

    level: Level
    text: str


def matching(
    lines: Sequence[str], *, level: Level, contains: str, most: int
) -> list[LogLine]:
    """Return the last lines of at least this level that contain the text.

    Lines are read from the end, and no more of them than necessary.
    """
    wanted = contains.casefold()
    found: list[LogLine] = []
    below: list[str] = []  # matching continuations of a line that is not read yet
    for text in reversed(lines):
        if not wanted or wanted in text.casefold():
            below.append(text)
        own = _level(text)
        if own is None:
            continue
        if own >= level:
            found += [LogLine(own, each) for each in below]
            if len(found) >= most:
                break
        below.clear()
    else:
        if level <= Level.INF:  # the level of these is unknown
            found += [LogLine(Level.INF, each) for each in below]
    return found[:most][::-1]


def _level(text: str) -> Level | None:
    """Return a line's own level."""
    found = _LINE.match(text)
    return Level.__members__.get(found[1]) if found else None
