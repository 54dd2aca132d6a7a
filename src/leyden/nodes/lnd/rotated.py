"""The rotated files of lnd's log.

lnd renames lnd.log to lnd.log.N, compresses that to lnd.log.N.gz, and then
removes lnd.log.N. While both exist, the compressed one is incomplete. The
numbers rise; lnd removes the oldest files.
"""

import gzip
import os
import re
import zlib
from contextlib import ExitStack
from io import BufferedIOBase
from pathlib import Path
from typing import Final

from leyden.nodes.lnd.home import open_theirs
from leyden.values import Struct

UNREADABLE: Final = (OSError, EOFError, zlib.error)

Rotated = dict[int, Path]  # by their numbers


class FilePart(Struct, kw_only=True):
    """A rotated file, from its first unread byte."""

    file: BufferedIOBase
    start: int
    size: int

    @property
    def left(self) -> int:
        """The number of unread bytes."""
        return max(0, self.size - self.start)


def rotated(path: str) -> Rotated:
    """List a log's rotated files, without one that is still being compressed."""
    folder, name = os.path.split(path)
    found: Rotated = {}
    try:
        entries = os.listdir(folder)  # noqa: PTH208  it is a str, stored for each node
    except OSError:
        return found
    for entry in sorted(entries, reverse=True):  # lnd.log.7.gz before lnd.log.7
        if match := re.fullmatch(rf"{re.escape(name)}\.(\d{{1,9}})(\.gz)?", entry):
            found[int(match[1])] = Path(folder, entry)
    return found


def newest(old: Rotated) -> int:
    """Return the highest number; 0 if there are no files."""
    return max(old, default=0)


def unread(
    old: Rotated, stack: ExitStack, *, since: int, offset: int, head: bytes
) -> tuple[list[FilePart], bool]:
    """Open files newer than `since`; return them, and whether none is missing.

    If a file begins with `head`, its first `offset` bytes were already read.
    """
    if newest(old) < since:
        since = 0  # the newest one is gone, so lnd numbers them from 1 again
    numbers = sorted(number for number in old if number > since)
    complete = not numbers or numbers[0] == since + 1
    parts, found = [], offset == 0
    for number in numbers:
        try:
            part = _part(old[number], stack)
            if not found and part.file.read(len(head)) == head:
                part.start, found = offset, True
        except UNREADABLE:
            complete = False
        else:
            parts.append(part)
    return parts, complete


def _part(path: Path, stack: ExitStack) -> FilePart:
    try:
        raw = stack.enter_context(open_theirs(path))
    except FileNotFoundError:  # compressed since it was listed
        path = path.with_name(f"{path.name}.gz")
        raw = stack.enter_context(open_theirs(path))
    size = raw.seek(0, os.SEEK_END)
    if path.suffix != ".gz":
        raw.seek(0)
        return FilePart(file=raw, start=0, size=size)
    raw.seek(max(0, size - 4))
    size = int.from_bytes(raw.read(4), "little")  # gzip's field of the original size
    raw.seek(0)
    packed = stack.enter_context(gzip.GzipFile(fileobj=raw, mode="rb"))
    return FilePart(file=packed, start=0, size=size)
