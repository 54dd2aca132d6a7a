"""The lock that allows one process per home."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from leyden.base.database.urls import is_sqlite, sqlite_path
from leyden.base.settings import Settings
from leyden.errors import SetupError

LOCK = "leyden.lock"


@contextmanager
def only_one(settings: Settings) -> Iterator[None]:
    """Hold the locks of the home, and of a SQLite file, for the block.

    Raise SetupError if another process holds them. The locks belong to the
    process, so a kill -9 leaves nothing to clean up.
    """
    home = settings.home_path
    home.mkdir(parents=True, exist_ok=True)
    # As root we give each node a user of its own, who has to pass through.
    home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    with ExitStack() as stack:
        stack.enter_context(_locked(home / LOCK, what=str(home)))
        if is_sqlite(settings.database):
            path = sqlite_path(settings.database)
            lock = path.with_name(f"{path.name}.lock")
            stack.enter_context(_locked(lock, what=str(path)))
        yield


def holder(settings: Settings) -> int | None:
    """Return the process that holds the home, if one does."""
    try:
        with (settings.home_path / LOCK).open("r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read().strip() or 0)
    except FileNotFoundError:
        pass
    return None


@contextmanager
def _locked(lock: Path, *, what: str) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise SetupError(
                f"{what} is in use by process {file.read().strip() or 'unknown'}; stop "
                "it with `leyden down`, or choose another LEYDEN_HOME"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
