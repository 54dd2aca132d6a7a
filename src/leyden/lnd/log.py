"""The lines of lnd's log that matter to others, found cheaply.

Its owner is told of one, and the height of the last block is read from another.

lnd says `[ERR] GRPH: out of order block: expecting height=9, got height=7` when its
chain backend has gone astray, and should be started again soon. A peer can put words
into other lines (aliases, error messages), so a line counts only when it is that line
from its first character to its last.

Cost (measured): a look at a log that has not grown is one stat, 6 µs; at one that has,
34 µs. To look at each of 1,000 nodes three times a minute takes 0.3 to 1.7 ms of every
second, and 190 bytes a node. A look reads at most 1 MiB, which takes 1 ms to search: an
owner who floods the log (trace logging) can hide the line from himself, and costs no
more. inotify would wake the platform at every line of every node instead.
"""

import gzip
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from leyden.values import Struct

MOST_BYTES: Final = 1 << 20  # read in one look
_BEFORE: Final = 1 << 16  # where the height is looked for in an old log
QUIET: Final = timedelta(minutes=10)  # what comes sooner after another is one burst
_TELLTALE = b"[ERR] GRPH: out of order block: "
_LINE = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[ERR\] GRPH: out of order block: "
    rb"expecting height=\d{1,10}, got height=\d{1,10}"
)


# The first stands at each block, the second once after a start.
_TELLTALES: Final = (
    b"[INF] NTFN: New block: height=",
    b"[INF] LTND: Chain backend is fully synced! ",
)
_BLOCK = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[INF\] (?:"
    rb"NTFN: New block: height=(\d{1,9}), sha=[0-9a-f]{64}"
    rb"|LTND: Chain backend is fully synced! (?:rev=\"\" )?end_height=(\d{1,9}))"
)


def last_height(content: bytes) -> int | None:
    """Find the height of the last block that lnd told of in whole lines of its log."""
    place = max(content.rfind(each) for each in _TELLTALES)
    if place < 0:
        return None
    start = content.rfind(b"\n", 0, place) + 1
    end = content.find(b"\n", place)
    match = _BLOCK.fullmatch(content, start, end if end >= 0 else len(content))
    return int(match[1] or match[2]) if match else None


def out_of_order(content: bytes) -> list[str]:
    """Find lnd's own complaints about the order of blocks in whole lines of its log."""
    if _TELLTALE not in content:  # as good as always; 1 MiB takes 0.1 ms
        return []
    return [line.decode() for line in content.split(b"\n") if _LINE.fullmatch(line)]


class Burst(Struct):
    """Tells the first of many: one backend gone astray makes hundreds of lines."""

    last: datetime | None = None

    def begins(self, now: datetime) -> bool:
        """Take note of a complaint; true when none has come for a while."""
        first = self.last is None or now - self.last >= QUIET
        self.last = now
        return first


class Tail:
    """Follows a log that lnd rotates, and gives each whole line once.

    Not thread-safe; everything here blocks only as long as a local disk does.
    """

    __slots__ = ("_inode", "_offset", "_path", "height")

    def __init__(self, path: Path, *, from_start: bool) -> None:
        """Begin before the first line of a new log, or after the last of an old one."""
        self._path = os.fspath(path)
        self._inode: int | None = None
        self._offset = 0
        self.height = 0  # of the last block it told of; 0 is not known
        if not from_start:
            self._skip_what_is_there()

    def look(self) -> list[str]:
        """Find the complaints written since the last look."""
        found = []
        for content in self._new():
            self.height = last_height(content) or self.height
            found += out_of_order(content)
        return found

    def _skip_what_is_there(self) -> None:
        try:
            there = os.stat(self._path)  # noqa: PTH116  a str, kept for each node
        except OSError:
            return
        self._inode, self._offset = there.st_ino, there.st_size
        with suppress(OSError), open(self._path, "rb") as log:  # noqa: PTH123  as above
            log.seek(max(0, self._offset - _BEFORE))
            self.height = last_height(log.read(_BEFORE)) or 0

    def _new(self) -> Iterator[bytes]:
        try:
            there = os.stat(self._path)  # noqa: PTH116  half the cost of Path.stat
        except OSError:
            return  # lnd has not started yet, or is between two files
        if self._inode not in {None, there.st_ino} or there.st_size < self._offset:
            yield self._rest_of_rotated()
            self._offset = 0
        self._inode = there.st_ino
        if there.st_size > self._offset:
            yield self._read(there.st_size)

    def _read(self, size: int) -> bytes:
        """Read whole lines up to the end; the beginning of too many is passed over."""
        self._offset = max(self._offset, size - MOST_BYTES)
        try:
            with open(self._path, "rb") as log:  # noqa: PTH123  as above
                log.seek(self._offset)
                content = log.read(MOST_BYTES)
        except OSError:
            return b""
        end = content.rfind(b"\n") + 1
        if end == 0 and len(content) == MOST_BYTES:
            end = MOST_BYTES  # a line that long is none of ours
        self._offset += end
        return content[:end]

    def _rest_of_rotated(self) -> bytes:
        """Read what was written between the last look and the change of files.

        lnd renames the file to lnd.log.N and then packs it, which takes a moment.
        """
        folder, name = os.path.split(self._path)
        try:
            _, newest = max(
                (int(match[1]), entry)
                for entry in os.listdir(folder)  # noqa: PTH208  as above
                if (match := re.fullmatch(rf"{name}\.(\d+)(\.gz)?", entry))
            )
        except (OSError, ValueError):
            return b""
        packed = newest.endswith(".gz")
        try:
            with (gzip.open if packed else Path.open)(
                Path(folder, newest), "rb"
            ) as log:
                log.seek(self._offset)
                return log.read(MOST_BYTES)
        except (OSError, EOFError):
            return b""
