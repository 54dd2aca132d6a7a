"""Files: the limit on open ones, locks, and output that only grows."""

import contextlib
import fcntl
import os
import resource
from collections.abc import Iterator
from pathlib import Path

from leyden.base.files import PRIVATE, draft

_COPY_BYTES = 1 << 20


def raise_file_limit() -> None:
    """Raise the limit of open files to the machine's maximum."""
    limit = open_file_limit()
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def share(one_in: int, *, enough: int) -> int:
    """Return one user's share of the open files: from one to `enough`.

    Without free files no request is accepted, no payment noticed and no node started.
    So each part that may open many files, such as one for each caller or unpaid order,
    is limited to a share.
    """
    limit = open_file_limit()
    if limit == resource.RLIM_INFINITY:
        return enough
    return max(1, min(enough, limit // one_in))


def open_file_limit() -> int:
    """Return how many files each of our programs can open."""
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file for the block; wait for other processes first.

    It is released when its process ends, however that happens.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def cap(log: Path, *, max_bytes: int) -> bool:
    """Copy a file that is too large to NAME.1 and truncate it; return whether it was.

    The program keeps writing: the file is open for appending, so it continues at the
    new end. A line that is written between copying and truncating is lost.
    """
    try:
        if log.stat().st_size <= max_bytes:
            return False
        old = log.with_name(log.name + ".1")
        with (
            log.open("rb") as source,
            draft(old, mode=PRIVATE, lasting=False) as copy,
        ):
            # Only the end: an unattended file may be of any size.
            source.seek(max(0, log.stat().st_size - max_bytes))
            while data := source.read(_COPY_BYTES):
                copy.write(data)
        os.truncate(log, 0)
    except FileNotFoundError:
        return False
    return True
