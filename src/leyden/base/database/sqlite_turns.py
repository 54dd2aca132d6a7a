"""Let processes that write to one SQLite file take turns.

SQLite has no queue: a writer that finds the file locked sleeps for up to a tenth of a
second and tries again. A process that commits back to back leaves the file unlocked
only for some microseconds at a time. So an operator's command could find it locked by a
busy server each time, for seconds.

So a writer first takes a file lock next to the database, and keeps it until it has
locked the database. While one process waits for the database, the next transactions of
all others wait for that lock: the waiting process is next.

The lock is only advisory. If a process was stopped while it waited, or the file can't
be opened, others do not wait for long; SQLite's own lock guarantees correctness.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

# The other process gets the database as soon as the current transaction ends.
_PATIENCE_S: Final = 1.0
_RETRY_S: Final = 0.001


class WriteTurns:
    """Our place in the queue for one SQLite file."""

    def __init__(self, database: Path, *, patience_s: float = _PATIENCE_S) -> None:
        self._file = _open(turns_path(database), like=database)
        self._patience_s = patience_s
        self._patient = True

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Hold the file lock for the block, which begins the transaction.

        The lock is taken on the event loop: each call in a thread would wait for
        Python's own lock, half a millisecond with a busy loop.
        """
        taken = self._take() or await self._wait()
        try:
            yield
        finally:
            if taken:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)

    def _take(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (OSError, ValueError):  # another process has it, or there is no file
            return False
        self._patient = True
        return True

    async def _wait(self) -> bool:
        """Wait for the process that is next, but only once if it is too slow."""
        until_s = time.monotonic() + self._patience_s
        while self._file >= 0 and self._patient:
            await asyncio.sleep(_RETRY_S)
            if self._take():
                return True
            self._patient = time.monotonic() < until_s
        return False


def turns_path(database: Path) -> Path:
    """Return the path of the file lock of a database."""
    return database.with_name(f"{database.name}-turns")


def _open(path: Path, *, like: Path) -> int:
    """Open the file for the database's owner, as SQLite does; -1 if that fails."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        owner = like.stat()
        if os.geteuid() == 0:
            os.fchown(file, owner.st_uid, owner.st_gid)
    except OSError:
        return -1
    return file
