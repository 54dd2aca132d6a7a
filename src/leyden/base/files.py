"""Atomic file replacement: readers see the old file or the new one.

The content is written to a draft beside the file, which is renamed over the
file. Each draft has a unique name: named by the process only, two threads
wrote into one draft, and the second found that the first had moved it away.
"""

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

PRIVATE: Final = 0o600
_DRAFT = re.compile(r"\..*\.[0-9a-f]{16}\.draft")
_MAX_NAME: Final = 40  # of the file's own name in its draft's: 255 bytes is the most
_ABANDONED_S: Final = 3_600.0
if sys.platform != "win32":  # which opens no folders
    _FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    _THEIRS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    _NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_private(path: Path, content: bytes | str, *, lasting: bool = True) -> None:
    """Write a file that only its owner may read."""
    write_whole(path, content, mode=PRIVATE, lasting=lasting)


def write_whole(
    path: Path, content: bytes | str, *, mode: int, lasting: bool = True
) -> None:
    """Write a file with this mode, whatever the umask."""
    with draft(path, mode=mode, lasting=lasting) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def draft(path: Path, *, mode: int, lasting: bool = True) -> Iterator[BinaryIO]:
    """Open a draft that replaces the file at the end of the block."""
    if sys.platform == "win32":  # a customer's machine, where folders say who may read
        with _draft_by_path(path) as file:
            yield file
        return
    folder = os.open(path.parent, _FOLDER)
    try:
        with draft_in(folder, path.name, mode=mode, lasting=lasting) as file:
            yield file
    except OSError as error:
        # Opened in a folder it is known by its bare name: say which file was meant.
        if isinstance(error.filename, str) and _DRAFT.fullmatch(error.filename):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        os.close(folder)


@contextmanager
def draft_in(
    folder: int, name: str, *, mode: int, lasting: bool = True
) -> Iterator[BinaryIO]:
    """Open a draft of a file in an open folder; delete it on an error.

    `lasting` also makes the file survive a power cut: without it, the file may
    be empty afterwards, which is fine for what can be written again.
    """
    fresh = _fresh(name)
    try:
        with os.fdopen(os.open(fresh, _NEW, PRIVATE, dir_fd=folder), "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), mode)
            if lasting:
                os.fsync(file.fileno())
        os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(fresh, dir_fd=folder)
        raise
    if lasting:
        _sync(folder)


@contextmanager
def _draft_by_path(path: Path) -> Iterator[BinaryIO]:
    fresh = path.with_name(_fresh(path.name))
    try:
        with fresh.open("xb") as file:
            yield file
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _fresh(name: str) -> str:
    return f".{name[:_MAX_NAME]}.{os.urandom(8).hex()}.draft"


def open_theirs(path: str, *, folder: int | None = None) -> int:
    """Open a file in a folder of another user's, to read.

    Raise OSError for what is no regular file. A link is not followed, and a pipe is not
    waited for: it would hold us until somebody writes into it.
    """
    opened = os.open(path, _THEIRS, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(errno.EINVAL, "is not a regular file", path)
    return opened


def open_theirs_below(folder: Path, path: Path) -> int:
    """Open as `open_theirs` does, following no link below a folder of ours."""
    *inner, name = path.relative_to(folder).parts
    here = os.open(folder, _FOLDER)
    try:
        for each in inner:
            below = os.open(each, _FOLDER | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        return open_theirs(name, folder=here)
    finally:
        os.close(here)


def remove_abandoned_drafts(folder: int | Path) -> None:
    """Delete drafts that a kill left: an hour old, so nobody is writing."""
    for name in os.listdir(folder):  # noqa: PTH208  it may be an open folder
        if not _DRAFT.fullmatch(name):
            continue
        opened, path = (
            (folder, name) if isinstance(folder, int) else (None, str(folder / name))
        )
        with suppress(OSError):
            written = os.stat(path, dir_fd=opened, follow_symlinks=False).st_mtime
            if time.time() - written >= _ABANDONED_S:
                os.unlink(path, dir_fd=opened)


def sync(path: Path) -> None:
    """Make a file or a folder survive a power cut."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync(opened)
    finally:
        os.close(opened)


def sync_all(folder: Path) -> None:
    """Make all that is in a folder, if it is there, survive a power cut."""
    for path in (*folder.rglob("*"), folder):
        with suppress(FileNotFoundError):
            sync(path)


def _sync(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems sync no folder
            raise


def unreadable(error: Exception) -> str:
    """Return in words why a file can't be read, or its content can't be used."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "its content is not valid"
