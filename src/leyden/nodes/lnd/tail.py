"""Resumable reading of a log that lnd rotates.

A position names a file and how much of it was read; it is stored in the
database. An inode alone does not identify a file: compressing an old log
frees its inode, and a new log may get it. So the first bytes are stored too:
they begin with the time, to the millisecond.

Cost (measured): checking a log that has not grown is one stat, 2 µs; one
that has, 40 µs. inotify would wake the platform at every line of every node
instead. A normal check reads at most 1 MiB, which takes 1 ms. Longer backlogs
are read in a thread, at most 16 MiB: an owner who floods the log (trace
logging) may miss a notification, but costs no more.
"""

import os
from contextlib import ExitStack
from io import BufferedIOBase
from typing import Final

from leyden.nodes.lnd.home import open_theirs
from leyden.nodes.lnd.log import last_height, out_of_order
from leyden.nodes.lnd.rotated import (
    UNREADABLE,
    FilePart,
    Rotated,
    newest,
    rotated,
    unread,
)
from leyden.nodes.rules.log_positions import LogPosition
from leyden.values import Struct, replace

MAX_BYTES: Final = 1 << 20  # in a quick read, and in one piece
MAX_BEHIND: Final = 16 << 20  # the most to read of a backlog
_TAIL_BYTES: Final = 1 << 16  # the part of a log that is searched for its last height
_MAX_COMPLAINTS: Final = 100  # one is announced; this limits memory
_HEAD: Final = 32
_INODE: Final = (1 << 63) - 1  # what databases store; some file systems use 64 bits
_TRIES: Final = 3  # each fails if the log is rotated at that moment


class NewLines(Struct, frozen=True, kw_only=True):
    """The new lines of a log, and the new read position."""

    position: LogPosition
    complaints: tuple[str, ...] = ()
    height: int = 0  # of the last block it mentions; 0 if unknown
    behind: bool = False  # nothing was read: call `catch_up`
    complete: bool = True  # whether each line was read


def read_new(path: str, position: LogPosition) -> NewLines | None:
    """Read new lines quickly; return None if there are none."""
    try:
        stat = os.stat(path)  # noqa: PTH116  half the cost of Path.stat
    except OSError:
        return None  # lnd has not started yet, or is between two files
    same = stat.st_ino & _INODE == position.inode
    if same and stat.st_size == position.offset:
        return None
    if position.offset < 0:
        return _from_the_end(path)
    if same and 0 < stat.st_size - position.offset <= MAX_BYTES:
        return _read_on(path, position)
    return NewLines(position=position, behind=True)


def catch_up(path: str, position: LogPosition) -> NewLines:
    """Read new lines, including those in files rotated meanwhile.

    1. List the rotated files and open the log; if it was rotated in between, retry.
    2. Find the unread part: the rest of the file it was in, the files after it, and
       the log.
    3. Read that, the newest 16 MiB of it.
    """
    for _ in range(_TRIES):
        old = rotated(path)
        try:
            with open_theirs(path) as log:
                if newest(rotated(path)) == newest(old):
                    return _caught_up(log, old, position)
        except OSError:
            break  # lnd is between two files: the next call reads it
    return NewLines(position=position)


def height_at_the_end(path: str) -> int:
    """Return the block height at the end of a log; 0 if unknown."""
    try:
        with open_theirs(path) as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL_BYTES))
            return last_height(log.read(_TAIL_BYTES)) or 0
    except OSError:
        return 0


def _from_the_end(path: str) -> NewLines | None:
    old = newest(rotated(path))
    try:
        with open_theirs(path) as log:
            return _Findings().result(log, os.fstat(log.fileno()).st_size, old)
    except OSError:
        return None


def _read_on(path: str, position: LogPosition) -> NewLines:
    findings = _Findings()
    try:
        with open_theirs(path) as log:
            if not _is_file_of(log, position):
                return NewLines(position=position, behind=True)
            end = findings.read(log, position.offset, position.offset + MAX_BYTES)
            return findings.result(log, end, position.rotated)
    except OSError:
        return NewLines(position=position)


def _is_file_of(log: BufferedIOBase, position: LogPosition) -> bool:
    """Return whether this is the file of the position."""
    stat = os.fstat(log.fileno())
    return (
        stat.st_ino & _INODE == position.inode
        and stat.st_size >= position.offset
        and os.pread(log.fileno(), len(position.head), 0) == position.head
    )


class _Findings:
    """The relevant lines among those read so far."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.height = 0

    def read(
        self, file: BufferedIOBase, start: int, until: int, *, cut: bool = False
    ) -> int:
        """Read whole lines; return the position after the last one.

        `cut` means that the start is within a line. The rest of that line is skipped:
        a peer may have written it.
        """
        file.seek(start)
        at, left = start, b""
        while at < until and (more := file.read(min(MAX_BYTES, until - at))):
            at += len(more)
            if cut:
                cut, more = False, more[more.find(b"\n") + 1 :]
            content = left + more
            end = content.rfind(b"\n") + 1
            if end == 0 and len(content) >= MAX_BYTES:
                end = len(content)  # no relevant line is that long
            self._take(content[:end])
            left = content[end:]
        return at - len(left)

    def result(self, log: BufferedIOBase, offset: int, rotated: int) -> NewLines:
        """Return the findings, with the new position in the log."""
        inode = os.fstat(log.fileno()).st_ino & _INODE
        head = os.pread(log.fileno(), _HEAD, 0)[:offset]
        return NewLines(
            position=LogPosition(inode, offset, head, rotated),
            complaints=tuple(self.complaints),
            height=self.height,
        )

    def _take(self, content: bytes) -> None:
        self.height = last_height(content) or self.height
        self.complaints += out_of_order(content)[
            : _MAX_COMPLAINTS - len(self.complaints)
        ]


def _caught_up(log: BufferedIOBase, old: Rotated, position: LogPosition) -> NewLines:
    size = os.fstat(log.fileno()).st_size
    start, parts, complete = position.offset, list[FilePart](), True
    findings = _Findings()
    with ExitStack() as stack:
        if not _is_file_of(log, position):
            parts, complete = unread(
                old,
                stack,
                since=position.rotated,
                offset=position.offset,
                head=position.head,
            )
            start = 0
        too_many = sum(part.left for part in parts) + size - start - MAX_BEHIND
        complete = complete and too_many <= 0
        for part in parts:
            passed = min(max(too_many, 0), part.left)
            too_many -= passed
            try:
                first = part.start + passed
                findings.read(part.file, first, part.size, cut=passed > 0)
            except UNREADABLE:
                complete = False
    passed = max(too_many, 0)
    end = findings.read(log, start + passed, size, cut=passed > 0)
    result = findings.result(log, end, newest(old))
    return result if complete else replace(result, complete=False)
