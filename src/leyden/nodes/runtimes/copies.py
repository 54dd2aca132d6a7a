"""A node's files as an archive, and their digest: equal on both sides of a copy.

Only folders and regular files are copied: lnd creates nothing else, though its user
could. Files that are written before each start, `lost+found`, and the mark of an
incomplete copy (`companion/arrival.go`) are left out.
"""

import asyncio
import contextlib
import hashlib
import io
import os
import queue
import shutil
import tarfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from leyden.base.files import sync
from leyden.errors import SetupError
from leyden.nodes.lnd import home, keys
from leyden.values import Struct

_CHUNK: Final = 1 << 18
_IN_HAND: Final = 16  # chunks
_NOT_COPIED: Final = frozenset(
    {
        home.CONF,
        home.CERTIFICATE,
        home.PRIVATE_KEY,
        "lost+found",
        ".arriving",
        *keys.FILES,
    }
)


class Content(Struct, frozen=True):
    """The size and digest that copies are compared by."""

    digest: str
    size: int  # bytes, of all files

    def refuse_difference(self, copy: "Content") -> None:
        """Raise SetupError for a copy that differs from this original."""
        if copy != self:
            raise SetupError(
                f"the copy differs from the original: {copy.size:,} bytes of "
                f"{copy.digest}, not {self.size:,} of {self.digest}"
            )


def content(folder: Path) -> Content:
    """Return the digest of a folder: of each file's digest, size and path.

    Raise if it is missing, or if a part of it can't be read.
    """
    overall, total = hashlib.sha256(), 0
    for name, path in _files(folder, onerror=_raise):
        with _opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        overall.update(f"{digest} {size} {name}\n".encode(errors="surrogateescape"))
        total += size
    return Content(digest=overall.hexdigest(), size=total)


def size(folder: Path) -> int:
    """Return the size of all files in a folder, in which lnd may be writing.

    It is 0 if there is no folder.
    """
    total = 0
    for _, path in _files(folder):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


async def packed(folder: Path) -> AsyncGenerator[bytes, None]:
    """Yield a folder as a tar archive; raise if a part of it can't be read."""
    for name, path in await asyncio.to_thread(
        lambda: list(_files(folder, onerror=_raise))
    ):
        with _opened(path) as file:
            stat = os.fstat(file.fileno())
            info = tarfile.TarInfo(name)
            info.size, info.mode = stat.st_size, stat.st_mode & 0o777
            info.mtime = int(stat.st_mtime)
            yield info.tobuf(tarfile.PAX_FORMAT)
            left = info.size
            while left:
                part = await asyncio.to_thread(file.read, min(_CHUNK, left))
                if not part:
                    raise SetupError(f"{path} became shorter while it was copied")
                left -= len(part)
                yield part
            yield bytes(-info.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


async def unpack(folder: Path, archive: AsyncIterator[bytes]) -> None:
    """Write an archive into a new folder, durably; raise if it is cut short."""
    feed = _Feed()
    writing = asyncio.create_task(asyncio.to_thread(_unpack, folder, feed))
    try:
        async for part in archive:
            while not feed.offer(part):
                if writing.done():
                    break
                await asyncio.sleep(0.005)
        feed.end(is_complete=True)
    finally:
        feed.end(is_complete=False)
        await asyncio.wait([writing])
    try:
        writing.result()
    except tarfile.TarError as error:
        raise SetupError(f"the copy is no archive: {error}") from None


class _Feed(io.RawIOBase):
    """A bounded buffer between the event loop and a reading thread."""

    def __init__(self) -> None:
        self._parts: queue.Queue[bytes | None] = queue.Queue()
        self._left = b""
        self._is_complete = False

    def offer(self, part: bytes) -> bool:
        """Append a part; return False while the buffer is full."""
        if self._parts.qsize() >= _IN_HAND:
            return False
        if part:
            self._parts.put(part)
        return True

    def end(self, *, is_complete: bool) -> None:
        """Mark the end: no more parts follow."""
        self._is_complete = self._is_complete or is_complete
        self._parts.put(None)

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        while len(self._left) < size:
            part = self._parts.get()
            if part is None:
                if not self._is_complete:
                    raise OSError("the copy was cut short")
                self._parts.put(None)
                break
            self._left += part
        returned, self._left = self._left[:size], self._left[size:]
        return returned


def _unpack(folder: Path, feed: Any) -> None:
    folder.mkdir(mode=0o700)
    folders = {folder}
    with tarfile.open(mode="r|", fileobj=feed, bufsize=tarfile.BLOCKSIZE * 64) as tar:
        for member in tar:
            path = _inside(folder, member.name)
            if member.isdir():
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            elif member.isreg():
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _write(path, tar.extractfile(member), member.mode)
            folders |= {path.parent}
    for each in folders:
        sync(each)


def _write(path: Path, content: Any, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode & 0o700 | 0o600), "wb") as file:
        shutil.copyfileobj(content, file, _CHUNK)
        file.flush()
        os.fsync(file.fileno())


def _inside(folder: Path, name: str) -> Path:
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts:
        raise SetupError(f"the copy has a file with the name {name!r}")
    return folder.joinpath(*parts)


def _raise(error: OSError) -> None:
    raise error


def _files(
    folder: Path, *, onerror: Callable[[OSError], None] | None = None
) -> Iterator[tuple[str, Path]]:
    """Yield each regular file with its name in the folder, sorted by bytes."""
    found = []
    for where, folders, listed in os.walk(folder, onerror=onerror):
        names = listed
        if Path(where) == folder:
            folders[:] = [each for each in folders if each not in _NOT_COPIED]
            names = [each for each in names if each not in _NOT_COPIED]
        for each in names:
            path = Path(where, each)
            if path.is_file() and not path.is_symlink():
                found.append((path.relative_to(folder).as_posix(), path))
    yield from sorted(found, key=lambda each: os.fsencode(each[0]))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "rb") as file:
        yield file
