"""Read the two files of a WAL in SQLite's format: the pages, and their index.

Nothing is locked here: the caller must prevent that the WAL restarts meanwhile.
"""

import contextlib
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leyden.values import Struct

# The index, shared by all connections, begins with two copies of a header. See SQLite's
# "WAL-Index File Format".
_HEADER: Final = struct.Struct("=II I BBH II 8s 8s 8s")
_WAL_HEADER, _FRAME_HEADER = 32, 24
_SUM: Final = slice(16, 24)  # a frame's checksum, which includes all earlier frames
_LARGE_PAGE: Final = 65_536
_SHM_TRIES: Final = 1_000


class Index(Struct, frozen=True, kw_only=True):
    """The content of the index: the number of frames, and the database's size."""

    page_size: int
    frames: int
    length: int
    salt: str

    def size(self, first: int) -> int:
        """Return the size in bytes of the frames from this one on."""
        return (self.frames - first) * self.step

    @property
    def step(self) -> int:
        """The size of a frame in bytes."""
        return _FRAME_HEADER + self.page_size


class WalFiles:
    """Reads the WAL files of one database."""

    def __init__(self, path: Path) -> None:
        """Open the index, which exists while any connection is open."""
        self._path = path
        # It stays open: closing a file releases all locks of this process on it.
        self._index = os.open(path.with_name(f"{path.name}-shm"), os.O_RDONLY)

    def close(self) -> None:
        """Close the index; all connections of this process must be closed before."""
        os.close(self._index)

    def index(self) -> Index:
        """Read the index; its header exists twice, so a partial write is noticed."""
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
        """Return the pages in the frames from this one on, by page number."""
        content = self._frames(index, first)
        pages: dict[int, bytes] = {}
        for at in range(0, len(content), index.step):
            (number,) = struct.unpack_from(">I", content, at)
            pages[number] = content[at + _FRAME_HEADER : at + index.step]
        return pages

    def sum_of(self, index: Index, frame: int) -> str:
        """Return the checksum of a frame, which covers earlier ones; "" for none."""
        if not frame:
            return ""
        with self._wal() as file:
            head = os.pread(file, _FRAME_HEADER, _WAL_HEADER + (frame - 1) * index.step)
        return head[_SUM].hex()

    def _frames(self, index: Index, first: int) -> bytes:
        """Read frames that are in the index, and so complete."""
        if index.frames <= first:
            return b""
        with self._wal() as file:
            salt = os.pread(file, 8, 16).hex()
            content = _read_all(
                file, index.size(first), _WAL_HEADER + first * index.step
            )
        if salt != index.salt:
            raise OSError(f"{self._path}-wal does not match its index")
        return content

    @contextlib.contextmanager
    def _wal(self) -> Iterator[int]:
        file = os.open(f"{self._path}-wal", os.O_RDONLY)
        try:
            yield file
        finally:
            os.close(file)  # SQLite has no locks on this file


def _read_all(file: int, size: int, offset: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        piece = os.pread(file, size - len(content), offset + len(content))
        if not piece:
            raise OSError("the WAL ended too soon")
        content += piece
    return bytes(content)
