"""Restoring an installation into an empty home.

1. Refuse what cannot be the place: a home with something in it, a database in use.
2. Fetch the backup beside the home, compare it with its manifest, open its keys.
3. Apply what came after it, migrate the database, end the sessions, list what a person
   has to look at.
4. Move everything into place at once. Killed before that, nothing is restored.

The home has no identity then, and nothing starts in it: see restored.py.
"""

import asyncio
import os
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from leyden.backups import channel_copies, keys, postgres, review
from leyden.backups.backup_files import Programs
from leyden.backups.changes import applying
from leyden.backups.fetching import Fetched, facts_differ, fetch, open_keys
from leyden.backups.keys import Bundle
from leyden.backups.store import store as stores
from leyden.backups.store.recovery import RecoveryKey
from leyden.backups.store.store import CHANNELS, TAG, Store, StoreAccess, of_kind
from leyden.backups.wiring import restored
from leyden.backups.wiring.restore_target import (
    alone,
    folder_beside,
    refuse_occupied,
    written_back,
)
from leyden.backups.wiring.restored import Restored
from leyden.base import settings
from leyden.base.database import schema, schema_check, sealing_keys
from leyden.base.database.secrets import Keyring
from leyden.base.database.urls import is_sqlite, sqlite_path
from leyden.base.files import sync, sync_all, write_private
from leyden.base.rules.times import to_iso, utc_now
from leyden.base.settings import Settings
from leyden.errors import SetupError

_FILES: Final = "restored"


async def restore(
    settings: Settings,
    programs: Programs,
    key: RecoveryKey,
    *,
    store: str = "",
    wanted: str = "latest",
    revoke_keys_as: str = "",
) -> Restored:
    """Restore a backup into this home, which stays stopped; return what to look at.

    If `revoke_keys_as` names an operator, all API keys are revoked in their name.
    """
    refuse_occupied(settings)
    beside = folder_beside(settings.home_path)
    with alone(beside):
        return await _restored(
            settings,
            programs,
            key,
            beside,
            store=store,
            wanted=wanted,
            revoke_keys_as=revoke_keys_as,
        )


async def _restored(
    settings: Settings,
    programs: Programs,
    key: RecoveryKey,
    beside: Path,
    *,
    store: str,
    wanted: str,
    revoke_keys_as: str,
) -> Restored:
    try:
        source = Store(restic=programs.restic, access=_access(settings, key, store))
        stored = await source.all_snapshots()
        chosen = source.choose(of_kind(stored, TAG), wanted)
        # Of a name of its own: where we are killed, restic writes on for a while.
        work = Path(tempfile.mkdtemp(prefix="fetched-", dir=beside))
        async with written_back(work):
            fetched = await fetch(source, chosen, work)
        _refuse_other(fetched, key, settings)
        bundle, ring = await open_keys(fetched, programs, key.identity)
        new = beside / restored.NEW
        new.mkdir(mode=0o700)
        _put_files(bundle, new, settings, store=source.access.location)
        url = _url(fetched, settings, new)
        await _put_database(fetched, settings, url)
        until = fetched.snapshot.made
        if wanted == "latest" and (
            chain := await applying.chain_of(
                source, fetched.snapshot, programs, identity=key.identity, work=beside
            )
        ):
            path = sqlite_path(url)
            after = await applying.apply(source, fetched.snapshot, path, chain=chain)
            until = after or until
        found = await _prepare(
            fetched, url, ring, until=until, revoke_keys_as=revoke_keys_as
        )
        await channel_copies.add_newest(
            source,
            of_kind(stored, CHANNELS),
            url,
            beside / "channels",
            since=until,
            installation=key.installation,
        )
        restored.save(new, found)
        shutil.rmtree(work)
        await asyncio.to_thread(sync_all, new)
        _move(new, settings)
    except BaseException:
        if not is_sqlite(settings.database):
            postgres.empty(settings.database)  # it was empty when we began
        raise
    return found


def _access(settings: Settings, key: RecoveryKey, store: str) -> StoreAccess:
    return StoreAccess(
        location=stores.check_location(store or settings.backup_store or key.store),
        password=key.password,
        s3_key_id=settings.backup_s3_key_id,
        s3_secret=settings.backup_s3_secret,
        deadline_s=settings.backup_deadline_s,
    )


def _refuse_other(fetched: Fetched, key: RecoveryKey, settings: Settings) -> None:
    manifest = fetched.manifest
    if manifest.installation != key.installation:
        raise SetupError(
            f"backup {fetched.snapshot.id[:8]} belongs to installation "
            f"{manifest.installation}, but the recovery key to {key.installation}; "
            "choose a backup of that installation"
        )
    if manifest.schema > schema_check.newest():
        raise SetupError(
            f"this version does not know the backup's schema {manifest.schema}, from "
            f"Leyden {manifest.leyden}; install that version, or a newer one"
        )
    if fetched.is_sqlite != is_sqlite(settings.database):
        wanted = "SQLite" if fetched.is_sqlite else "PostgreSQL"
        raise SetupError(
            f"database_url: the backup is from {wanted}, but this is a different kind "
            f"of database; set it to an empty {wanted} database"
        )


def _put_files(bundle: Bundle, new: Path, settings: Settings, *, store: str) -> None:
    """Write the files of the bundle into the new home."""
    values = tomllib.loads(bundle.files[keys.SETTINGS].decode())
    values["backup_store"] = store
    for name, content in bundle.files.items():
        kind, _, rest = name.partition("/")
        if kind == "home":
            _write(new / rest, content)
        elif kind == "files":
            _write(new / _FILES / rest, content)
            values[rest] = str(settings.home_path / _FILES / rest)
    _write(new / "leyden.toml", _toml(values))
    _write(new / keys.SECRETS, bundle.files[keys.SECRETS])


def _toml(values: Mapping[str, Any]) -> bytes:
    known = {name for name, _, _ in settings.every_setting()}
    lines = [keys.line(name, value) for name, value in values.items() if name in known]
    return ("\n".join(lines) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, content)


async def _put_database(fetched: Fetched, settings: Settings, url: str) -> None:
    """Restore the database as it was when it was copied."""
    if fetched.is_sqlite:
        fetched.database.rename(sqlite_path(url))
    else:
        await postgres.restore(
            fetched.database, url, deadline_s=settings.backup_deadline_s
        )
    if wrong := await facts_differ(fetched, url):
        raise SetupError(f"the backup is damaged: {'; '.join(wrong)}")


async def _prepare(
    fetched: Fetched,
    url: str,
    ring: Keyring,
    *,
    until: datetime,
    revoke_keys_as: str,
) -> Restored:
    """Migrate the database; return what there is to look at."""
    await asyncio.to_thread(schema.migrate, url)
    sealing_keys.check(url, ring)
    found = await review.prepare(url, revoke_keys_as=revoke_keys_as, now=utc_now())
    return Restored(
        backup=fetched.snapshot.id,
        made=fetched.manifest.made,
        until=to_iso(until),
        restored=to_iso(utc_now()),
        host=fetched.snapshot.host,
        sessions_ended=found.sessions_ended,
        keys_revoked=found.keys_revoked,
        review=found.lists,
    )


def _url(fetched: Fetched, settings: Settings, new: Path) -> str:
    return f"sqlite:///{new / 'leyden.db'}" if fetched.is_sqlite else settings.database


def _move(new: Path, settings: Settings) -> None:
    """Put the new home in place: one step, on one file system."""
    if is_sqlite(settings.database):
        elsewhere = sqlite_path(settings.database)
        if elsewhere.parent != settings.home_path:
            elsewhere.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.move(new / "leyden.db", elsewhere)
            sync(elsewhere)
            sync(elsewhere.parent)
        elif elsewhere.name != "leyden.db":
            (new / "leyden.db").rename(new / elsewhere.name)
    if settings.secrets_path != settings.home_path / keys.SECRETS:
        settings.secrets_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(new / keys.SECRETS, settings.secrets_path)
        sync(settings.secrets_path)
        sync(settings.secrets_path.parent)
    if settings.home_path.is_mount():
        # What says that the home may not run yet comes first.
        for each in sorted(new.iterdir(), key=lambda one: one.name != restored.FILE):
            each.rename(settings.home_path / each.name)
        sync(settings.home_path)
    else:
        os.rename(new, settings.home_path)  # noqa: PTH104  over an empty folder, or none
        sync(settings.home_path.parent)
