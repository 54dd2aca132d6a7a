"""A lock for one builder at a time across processes.

The lock of a killed builder is released automatically.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from leyden.errors import SetupError

_LOOK_AGAIN_S = 0.1


@contextlib.asynccontextmanager
async def locked(
    path: Path, *, waiting: Callable[[], None] = lambda: None
) -> AsyncIterator[int]:
    """Hold a lock file for the block; yield its file descriptor.

    `waiting` is called once if another process holds the lock. A child that
    inherits the descriptor keeps the lock for as long as the child lives.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unwritable(path.parent, error) from None
    try:
        has_told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not has_told:
                    waiting()
                    has_told = True
                await asyncio.sleep(_LOOK_AGAIN_S)
        yield file
    finally:
        os.close(file)


def unwritable(folder: Path, error: OSError) -> SetupError:
    """Return the error for a cache that can't be written, with the fix."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return SetupError(f"the disk of {folder} is full; make room, then go on")
    return SetupError(
        f"cannot write to {folder} ({error.strerror}); "
        "set LEYDEN_CACHE to a folder that can be written"
    )
