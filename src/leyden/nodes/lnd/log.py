"""Lines of lnd's log: filtered by level and text, and the few that matter to us.

Of one kind of these the owner is notified; another has the height of the last block.

lnd logs `[ERR] GRPH: out of order block: expecting height=9, got height=7`
if its chain backend reports blocks in the wrong order; it should be
restarted soon. A peer can write text into other lines (aliases, error
messages), so a line counts only if it matches in full.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from enum import IntEnum
from typing import Final

from leyden.values import Struct

QUIET: Final = timedelta(minutes=10)  # errors closer together count as one burst
_TELLTALE = b"[ERR] GRPH: out of order block: "
_LINE = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[ERR\] GRPH: out of order block: "
    rb"expecting height=\d{1,10}, got height=\d{1,10}"
)


# lnd logs the first at each block, the second once after a start.
_TELLTALES: Final = (
    b"[INF] NTFN: New block: height=",
    b"[INF] LTND: Chain backend is fully synced! ",
)
_BLOCK = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[INF\] (?:"
    rb"NTFN: New block: height=(\d{1,9}), sha=[0-9a-f]{64}"
    rb"|LTND: Chain backend is fully synced! (?:rev=\"\" )?end_height=(\d{1,9}))"
)
_HEAD: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[([A-Z]{3})\] ")


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
    lines: Sequence[str], *, level: Level, contains: str, limit: int
) -> list[LogLine]:
    """Return the last lines of at least this level that contain the text.

    A line without a level continues the one before it: a message of several lines, or
    a stack trace. Lines are read from the end, and no more of them than necessary.
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
            if len(found) >= limit:
                break
        below.clear()
    else:
        if level <= Level.INF:  # the level of these is unknown
            found += [LogLine(Level.INF, each) for each in below]
    return found[:limit][::-1]


def _level(text: str) -> Level | None:
    """Return a line's own level."""
    found = _HEAD.match(text)
    return Level.__members__.get(found[1]) if found else None


def last_height(content: bytes) -> int | None:
    """Return the height of the last block in whole lines of lnd's log."""
    found_at = max(content.rfind(each) for each in _TELLTALES)
    if found_at < 0:
        return None
    start = content.rfind(b"\n", 0, found_at) + 1
    end = content.find(b"\n", found_at)
    match = _BLOCK.fullmatch(content, start, end if end >= 0 else len(content))
    return int(match[1] or match[2]) if match else None


def out_of_order(content: bytes) -> list[str]:
    """Return lnd's out-of-order errors in whole lines of its log."""
    if _TELLTALE not in content:  # almost always; 1 MiB takes 0.1 ms
        return []
    return [line.decode() for line in content.split(b"\n") if _LINE.fullmatch(line)]
