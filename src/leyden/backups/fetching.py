"""Fetch a backup from the store, and compare it with its manifest."""

import asyncio
from pathlib import Path

from leyden.backups import copies, keys, manifest
from leyden.backups.backup_files import Programs
from leyden.backups.facts import describe
from leyden.backups.keys import Bundle, installation_id
from leyden.backups.manifest import Manifest
from leyden.backups.store.store import Snapshot, Store
from leyden.base.database.secrets import Keyring, Sealer, parse_keyring
from leyden.errors import SetupError
from leyden.values import Struct


class Fetched(Struct, frozen=True, kw_only=True):
    """A complete and intact backup in a folder."""

    snapshot: Snapshot
    folder: Path
    manifest: Manifest

    @property
    def database(self) -> Path:
        """The copy of the database."""
        return self.folder / self.manifest.database

    @property
    def is_sqlite(self) -> bool:
        """Return whether the backup is of SQLite."""
        return self.manifest.database == copies.SQLITE

    @property
    def keys(self) -> Path:
        """The encrypted keys."""
        return self.folder / keys.NAME


async def fetch(store: Store, snapshot: Snapshot, folder: Path) -> Fetched:
    """Fetch a backup into a folder; raise SetupError if anything in it is damaged.

    The database is not checked: with the same digest it is as intact as the copy was.
    """
    await store.fetch(snapshot, folder)
    manifest_ = await asyncio.to_thread(manifest.read, folder)
    found = Fetched(snapshot=snapshot, folder=folder, manifest=manifest_)
    if manifest_.database not in {copies.SQLITE, copies.POSTGRES}:
        raise SetupError(
            f'the backup\'s database is of unknown type: "{manifest_.database}"'
        )
    wrong = await asyncio.to_thread(
        lambda: list(manifest.differences(folder, manifest_))
    )
    if wrong:
        raise SetupError(
            f"backup {snapshot.id[:8]} is damaged: {'; '.join(wrong)}; restore another "
            "one, see `leyden backup list`"
        )
    return found


async def open_keys(
    fetched: Fetched, programs: Programs, identity: str
) -> tuple[Bundle, Keyring]:
    """Decrypt the keys of a backup."""
    content = await programs.age.decrypt(fetched.keys, identity)
    bundle = keys.unpack(content)
    ring = parse_keyring(bundle.files[keys.SECRETS], Path(keys.SECRETS))
    expected, found = fetched.manifest.installation, installation_id(Sealer(ring))
    if found != expected:
        raise SetupError(
            f"the keys in the backup are of installation {found}, but its database is "
            f"of {expected}: restore another backup"
        )
    return bundle, ring


async def facts_differ(fetched: Fetched, url: str) -> list[str]:
    """Return what differs between a restored database and the manifest."""
    manifest_ = fetched.manifest
    schema, found = await asyncio.to_thread(describe, url)
    wrong = list(manifest.compare(found, manifest_.facts, what="the copy"))
    if schema != manifest_.schema:
        wrong.append(f"the copy has schema {schema}, but had {manifest_.schema}")
    return wrong
