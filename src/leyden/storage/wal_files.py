"""The two files of a WAL, as SQLite writes them: pages, and the index of them.

Nothing is locked here: who reads says when, so that nobody begins the WAL anew
meanwhile.
"""

import contextlib
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leyden.values import Struct

# The index that all connections share begins with two copies of a header. See "The
# WAL-Index File Format" of SQLite.
_HEADER: Final = struct.Struct("=II I BBH II 8s 8s 8s")
_WAL_HEADER, _FRAME_HEADER = 32, 24
_SUM: Final = slice(16, 24)  # a frame's checksum, which follows from all before it
_LARGE_PAGE: Final = 65_536
_SHM_TRIES: Final = 1_000


class Index(Struct, frozen=True, kw_only=True):
    """What the WAL has: frames of one page each, and the database's pages by then."""

    page_size: int
    frames: int
    length: int
    salt: str

    def size(self, first: int) -> int:
        """Return how many bytes the frames from this one on are."""
        return (self.frames - first) * self.step

    @property
    def step(self) -> int:
        """The bytes of a frame."""
        return _FRAME_HEADER + self.page_size


class WalFiles:
    """A reader of the files beside one database."""

    def __init__(self, path: Path) -> None:
        """Open the index, which is there as long as anybody is connected."""
        self._path = path
        # Kept open: closing a file ends all locks of this process on it.
        self._index = os.open(path.with_name(f"{path.name}-shm"), os.O_RDONLY)

    def close(self) -> None:
        """Close the index; all connections of this process are closed by then."""
        os.close(self._index)

    def index(self) -> Index:
        """Read the index; it is written twice, so that a half of it is noticed."""
        for _ in range(_SHM_TRIES):
            content = os.pread(self._index, 2 * _HEADER.size, 0)
            first, second = content[: _HEADER.size], content[_HEADER.size :]
            if first == second:
                break
            time.sleep(0.0001)
        else:
            raise OSError(f"{self._path}-shm cannot be read")
        header = _HEADER.unpack(first)
        size, frames, length, salt = header[5], header[6], header[7], header[9]
        return Index(
            page_size=_LARGE_PAGE if size == 1 else size,
            frames=frames,
            length=length,
            salt=salt.hex(),
        )

    def pages(self, index: Index, first: int) -> dict[int, bytes]:
        """Return pages by number, as the frames from this one on leave them."""
        content = self._frames(index, first)
        pages: dict[int, bytes] = {}
        for at in range(0, len(content), index.step):
            (number,) = struct.unpack_from(">I", content, at)
            pages[number] = content[at + _FRAME_HEADER : at + index.step]
        return pages

    def sum_of(self, index: Index, frame: int) -> str:
        """Return the checksum of a frame, and so of all before it; "" of none."""
        if not frame:
            return ""
        with self._wal() as file:
            head = os.pread(file, _FRAME_HEADER, _WAL_HEADER + (frame - 1) * index.step)
        return head[_SUM].hex()

    def _frames(self, index: Index, first: int) -> bytes:
        """Read frames, which are complete: the index has them."""
        if index.frames <= first:
            return b""
        with self._wal() as file:
            salt = os.pread(file, 8, 16).hex()
            content = _read_all(
                file, index.size(first), _WAL_HEADER + first * index.step
            )
        if salt != index.salt:
            raise OSError(f"{self._path}-wal is not what its index says")
        return content

    @contextlib.contextmanager
    def _wal(self) -> Iterator[int]:
        file = os.open(f"{self._path}-wal", os.O_RDONLY)
        try:
            yield file
        finally:
            os.close(file)  # SQLite locks nothing in this file


def _read_all(file: int, size: int, offset: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        piece = os.pread(file, size - len(content), offset + len(content))
        if not piece:
            raise OSError("the WAL ended too soon")
        content += piece
    return bytes(content)
