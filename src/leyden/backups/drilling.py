"""A drill: restore the newest backup into an empty place, and verify it there.

It starts no jobs, nodes or listeners, and makes no calls: it only opens and reads the
database and the keys.

1. Fetch the backup, and compare it with its manifest.
2. Apply later changes, and migrate the copy to this version's schema, as a restore
   does.
3. Open every sealed value with the keys.
4. Verify the ledger, and compare it with that of the running installation.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leyden.backups import backup_files, facts, postgres
from leyden.backups.backup_files import Programs
from leyden.backups.changes import applying, state
from leyden.backups.facts import Reading
from leyden.backups.fetching import Fetched, facts_differ, fetch, open_keys
from leyden.backups.keys import installation_id
from leyden.backups.results import Kind, recorded
from leyden.backups.sealed_values import Opened, open_all
from leyden.backups.store.recovery import RecoveryKey
from leyden.backups.store.store import Store
from leyden.base.database import schema
from leyden.base.database.database import open_database
from leyden.base.database.secrets import Keyring, Sealer, load_keyring
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso
from leyden.channels.books.verify import verify
from leyden.values import Struct


class Drilled(Struct, frozen=True, kw_only=True):
    """The result of a drill."""

    backup: str
    made: str
    until: str  # everything until then was restored
    took_s: float
    keys_from: str
    rows: int
    values_opened: int
    problems: list[str]


async def drill(
    platform: Platform, programs: Programs, *, key: RecoveryKey | None = None
) -> Drilled:
    """Restore the newest backup into an empty place; return the problems found.

    Without the recovery key, use the running installation's sealing keys.
    """
    settings, began = platform.settings, time.monotonic()
    kinds: tuple[Kind, ...] = ("drill", "attended") if key else ("drill",)
    async with recorded(platform, *kinds) as found:
        store = backup_files.store(
            settings, programs, password=key.password if key else ""
        )
        with backup_files.working(settings) as work:
            backup_files.check_room(settings, work)
            fetched = await fetch(store, await store.find(), work)
            found.snapshot = fetched.snapshot.id
            ring = await _keyring(platform, programs, fetched, key)
            problems = []
            if fetched.manifest.installation != installation_id(Sealer(ring)):
                problems.append("the backup is of another installation than the keys")
            async with _restored(platform, fetched) as url:
                problems += await facts_differ(fetched, url)
                until = await _apply(store, platform, programs, fetched, key)
                await asyncio.to_thread(schema.migrate, url)
                opened = await asyncio.to_thread(_open_all, url, ring)
                problems += [*opened.shut, *await _broken(url)]
                problems += await asyncio.to_thread(
                    _unlike, settings.database, url, fetched
                )
        found.problems = problems
        return Drilled(
            backup=fetched.snapshot.id[:8],
            made=fetched.manifest.made,
            until=until,
            took_s=round(time.monotonic() - began, 1),
            keys_from="recovery key" if key else "secrets_file",
            rows=sum(fetched.manifest.facts.rows.values()),
            values_opened=opened.values,
            problems=problems,
        )


async def _keyring(
    platform: Platform, programs: Programs, fetched: Fetched, key: RecoveryKey | None
) -> Keyring:
    if key is None:
        return load_keyring(platform.settings.secrets_path)
    _, ring = await open_keys(fetched, programs, key.identity)
    return ring


async def _apply(
    store: Store,
    platform: Platform,
    programs: Programs,
    fetched: Fetched,
    key: RecoveryKey | None,
) -> str:
    """Apply changes after the backup, as a restore does; return until when."""
    base, chain = state.base_of(fetched.snapshot.tags), None
    if base is not None and key is None:
        chain = state.read_key(platform.settings, chain=base.chain)
    elif key is not None:
        chain = await applying.chain_of(
            store,
            fetched.snapshot,
            programs,
            identity=key.identity,
            work=fetched.folder,
        )
    if chain is None:
        return fetched.manifest.made
    until = await applying.apply(store, fetched.snapshot, fetched.database, chain=chain)
    return to_iso(until) if until else fetched.manifest.made


@asynccontextmanager
async def _restored(platform: Platform, fetched: Fetched) -> AsyncIterator[str]:
    """Yield the URL of the restored copy, which is deleted at the end."""
    settings = platform.settings
    if fetched.is_sqlite:
        yield f"sqlite:///{fetched.database}"
        return
    async with postgres.scratch(settings.database) as url:
        await postgres.restore(
            fetched.database, url, deadline_s=settings.backup_deadline_s
        )
        yield url


def _open_all(url: str, ring: Keyring) -> Opened:
    with Reading(url) as connection:
        return open_all(connection, Sealer(ring))


async def _broken(url: str) -> list[str]:
    """Return the rules that the copy violates."""
    database = await open_database(url)
    try:
        return [f"verify: {each}" for each in await verify(database)]
    finally:
        await database.close()


def _unlike(running: str, copy: str, fetched: Fetched) -> list[str]:
    """Return where the running ledger differs from the backup's.

    Entries are only added, so up to the last one of the copy both must be the same. On
    PostgreSQL a transaction that was open during the backup may have committed a lower
    number since.
    """
    until = fetched.manifest.facts.last_entry
    with Reading(copy) as connection:
        then = facts.books(connection, until=until)
        numbers = facts.recent_entries(connection, until=until)
    with Reading(running) as connection:
        later = facts.recent_entries(connection, until=until) - numbers
        now = facts.books(connection, until=until, besides=later)
    return [
        f"the running ledger's {name} up to the backup is {now.get(name, 0):,} sat, "
        f"but the copy's is {then.get(name, 0):,}"
        for name in sorted(now.keys() | then.keys())
        if now.get(name, 0) != then.get(name, 0)
    ]
