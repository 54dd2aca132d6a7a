"""The empty place that an installation is restored into, locked while it is."""

import asyncio
import errno
import fcntl
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

from leyden.backups import postgres
from leyden.backups.wiring import restored
from leyden.base.database.urls import is_sqlite, sqlite_path
from leyden.base.files import sync_all
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.wiring import home

_NOTHING: Final = frozenset({"lost+found", restored.BESIDE})
_SYNC_EVERY_S: Final = 0.1
_TRIES: Final = 20
_AGAIN_S: Final = 0.1


@contextmanager
def alone(beside: Path) -> Iterator[None]:
    """Create the folder to restore in, for one restore at a time; then delete it."""
    _make_anew(beside)
    with _held(beside):
        try:
            yield
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _make_anew(folder: Path) -> None:
    """Create a folder, without what a restore that was killed has left there."""
    for tries_left in reversed(range(_TRIES)):
        try:
            with suppress(FileNotFoundError), _held(folder):
                shutil.rmtree(folder)
            folder.mkdir(mode=0o700, parents=True)
        except OSError as error:
            # What the killed one called may still write to it, until it ends, too.
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY) or not tries_left:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


def _lock(file: int) -> None:
    """Lock a file; raise BlockingIOError if somebody else keeps it.

    A child of a restore that was killed may hold it for a moment, until its exec.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not tries_left:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock a folder for the block; raise SetupError if somebody else has it."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _lock(file)
        yield
    except BlockingIOError:
        raise SetupError(
            f"{folder}: another restore into this home is running; wait until it ends"
        ) from None
    finally:
        os.close(file)


@asynccontextmanager
async def written_back(folder: Path) -> AsyncIterator[None]:
    """Sync what the block writes to the disk meanwhile, not only at the end.

    Decrypting takes a processor and syncing a disk: one after the other, a restore
    took half as long again.
    """

    async def sync_it() -> None:
        while True:
            await asyncio.to_thread(sync_all, folder)
            await asyncio.sleep(_SYNC_EVERY_S)

    syncing = asyncio.create_task(sync_it())
    try:
        yield
    finally:
        syncing.cancel()
        await asyncio.gather(syncing, return_exceptions=True)


def refuse_occupied(settings: Settings) -> None:
    """Raise SetupError unless home and database are empty."""
    target = settings.home_path
    if (process := home.holder(settings)) is not None:
        raise SetupError(
            f"{target}: is in use by a running installation, process {process}; "
            "restore into another LEYDEN_HOME, on the new machine"
        )
    if restored.is_half(target):
        raise SetupError(
            f"{target}: a restore was killed while it moved files to this disk; delete "
            "everything on it, and restore again"
        )
    if target.exists() and (not target.is_dir() or _content(target)):
        raise SetupError(
            f"{target}: must be empty, because a restore overwrites nothing; choose "
            "another LEYDEN_HOME, or move this folder away"
        )
    if is_sqlite(settings.database):
        if sqlite_path(settings.database).exists():
            raise SetupError(
                f"database_url: {sqlite_path(settings.database)} already exists, and a "
                "restore overwrites nothing; move it away, or delete it if it is from "
                "a restore that was killed"
            )
    elif not postgres.is_empty(settings.database):
        raise SetupError(
            "database_url: the database must be empty, because a restore overwrites "
            "nothing. If it is from a restore that was killed, `dropdb` and `createdb` "
            "it again; otherwise create another, empty database"
        )
    if settings.secrets_path.exists():
        raise SetupError(
            f"secrets_file: {settings.secrets_path} already exists, and a restore "
            "overwrites nothing; move it away"
        )


def folder_beside(target: Path) -> Path:
    """Return the folder to restore in, on the file system of the home."""
    # Where the home is a disk of its own, nothing is moved onto it from another one.
    if target.is_mount():
        return target / restored.BESIDE
    return target.with_name(f"{target.name}{restored.BESIDE}")


def _content(target: Path) -> list[Path]:
    """List what is in a folder, beside what every new disk has."""
    return [each for each in target.iterdir() if each.name not in _NOTHING]
