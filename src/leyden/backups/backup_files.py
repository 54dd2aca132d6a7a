"""The files of backups in the home folder, and the programs that they call.

HOME/backup/              0700
├── password              the store's password; opens no sealed value
├── password.new          the same, while the store is being created
├── recipients            who can open the keys in a backup: age1..., a line each
├── lock                  held by the one run, check or drill at a time
└── work-*                copies, while a run is in progress
"""

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from leyden.backups.store import store as stores
from leyden.backups.store.age import Age
from leyden.backups.store.store import Store, StoreAccess
from leyden.base import processes
from leyden.base.daemons import build as builds
from leyden.base.daemons.progress import Progress, quiet
from leyden.base.database.urls import is_sqlite, sqlite_path
from leyden.base.files import sync, write_private
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.values import Struct

_WORK: Final = "work-"
_PASSWORD_BYTES: Final = 24
_ROOM: Final = 1.1  # of the database


class Programs(Struct, frozen=True, kw_only=True):
    """The programs of backups."""

    restic: Path
    age: Age


async def programs(
    environment: Mapping[str, str], *, progress: Progress = quiet
) -> Programs:
    """Return the programs, which are built at their first use."""
    cache = builds.default_cache(environment)

    async def path(name: str) -> Path:
        return await builds.binary(
            name, cache=cache, environment=environment, progress=progress
        )

    return Programs(
        restic=await path("restic"),
        age=Age(age=await path("age"), keygen=await path("age-keygen")),
    )


def folder(settings: Settings) -> Path:
    """Return the folder of backups in the home."""
    return settings.home_path / "backup"


def is_ready(settings: Settings) -> bool:
    """Return whether backups are set up in this home."""
    return bool(settings.backup_store) and (folder(settings) / "password").exists()


@contextlib.contextmanager
def setting_up(settings: Settings) -> Iterator[None]:
    """Let only one process at a time set up backups, or make one."""
    with processes.locked(folder(settings) / "lock"):
        yield


def begin(settings: Settings) -> tuple[str, bool]:
    """Return the password of the new store, and whether an earlier setup chose it.

    That setup was killed or failed: its store may exist, and has this password.
    """
    path = folder(settings) / "password.new"
    if path.exists():
        return _read(path).strip(), True
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    write_private(path, f"{password}\n")
    return password, False


def save_recipients(settings: Settings, recipients: Sequence[str]) -> None:
    """Save who can open the keys in a backup."""
    content = "".join(f"{each}\n" for each in recipients)
    write_private(folder(settings) / "recipients", content)


def finish(settings: Settings) -> None:
    """Let backups begin: the store exists, and the recovery key is written."""
    home = folder(settings)
    (home / "password.new").rename(home / "password")
    sync(home)


def recipients(settings: Settings) -> list[str]:
    """Return the age recipients that can open the keys in a backup."""
    return _read(folder(settings) / "recipients").split()


def access(settings: Settings, *, password: str = "") -> StoreAccess:
    """Return how to reach the store that the settings name; SetupError if they are bad.

    Without a password, it is the one that `leyden backup init` wrote.
    """
    if not settings.backup_store:
        raise SetupError(
            "backup_store: is not set; set it to a folder on another disk or machine, "
            "or to s3:https://HOST/BUCKET/PATH, then run `leyden backup init`"
        )
    if bool(settings.backup_s3_key_id) != bool(settings.backup_s3_secret):
        raise SetupError("backup_s3_key_id, backup_s3_secret: set both or neither")
    return StoreAccess(
        location=stores.check_location(settings.backup_store),
        password=password or _read(folder(settings) / "password").strip(),
        s3_key_id=settings.backup_s3_key_id,
        s3_secret=settings.backup_s3_secret,
        deadline_s=settings.backup_deadline_s,
    )


def store(settings: Settings, programs: Programs, *, password: str = "") -> Store:
    """Return the store that the settings name."""
    return Store(restic=programs.restic, access=access(settings, password=password))


@contextlib.contextmanager
def working(settings: Settings) -> Iterator[Path]:
    """Yield a private folder for copies, for one run, check or drill at a time."""
    home = folder(settings)
    with processes.locked(home / "lock"):
        for left in home.glob(f"{_WORK}*"):  # by a run that was killed
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_WORK, dir=home) as found:
            yield Path(found)


def check_room(settings: Settings, path: Path) -> None:
    """Raise SetupError if a folder has no room for a copy of the SQLite database.

    The size of a PostgreSQL dump is unknown.
    """
    if not is_sqlite(settings.database):
        return
    needed = int(sqlite_path(settings.database).stat().st_size * _ROOM)
    usage = os.statvfs(path)
    free = usage.f_bavail * usage.f_frsize
    if free < needed:
        raise SetupError(
            f"{path}: a copy of the database needs {needed >> 20:,} MiB, and "
            f"{free >> 20:,} MiB are free"
        )


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        raise SetupError(
            f"{path} does not exist; `leyden backup init` creates it with the store"
        ) from None
