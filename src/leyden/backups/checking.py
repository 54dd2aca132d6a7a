"""Check every byte of the store, and the newest backup against its manifest."""

from leyden.backups import backup_files
from leyden.backups.backup_files import Programs
from leyden.backups.changes import applying, state
from leyden.backups.fetching import facts_differ, fetch, open_keys
from leyden.backups.keys import installation_id
from leyden.backups.results import recorded
from leyden.backups.store.recovery import RecoveryKey
from leyden.base.platform import Platform
from leyden.errors import SetupError
from leyden.values import Struct


class Checked(Struct, frozen=True, kw_only=True):
    """The result of a check."""

    backup: str
    made: str
    leyden: str
    schema: str
    rows: int
    changes: int  # objects with later changes
    changes_opened: bool  # False: this home has no key for them
    keys_opened: bool
    problems: list[str]


async def check(
    platform: Platform, programs: Programs, *, key: RecoveryKey | None = None
) -> Checked:
    """Read everything in the store; raise SetupError if any of it is damaged.

    With the recovery key, also decrypt the keys in the backup, and later changes even
    where this home has no key for them: all that a restore needs.
    """
    async with recorded(platform, "check") as found:
        settings = platform.settings
        store = backup_files.store(
            settings, programs, password=key.password if key else ""
        )
        await store.check()
        await refuse_lost(platform, {each.id for each in await store.snapshots()})
        with backup_files.working(settings) as work:
            backup_files.check_room(settings, work)
            fetched = await fetch(store, await store.find(), work)
            found.snapshot = fetched.snapshot.id
            manifest = fetched.manifest
            if manifest.installation != installation_id(platform.sealer):
                raise SetupError(
                    f"backup {fetched.snapshot.id[:8]} is of installation "
                    f"{manifest.installation}, not of this one: each needs a store of "
                    "its own"
                )
            if fetched.is_sqlite:
                url = f"sqlite:///{fetched.database}"
                found.problems = await facts_differ(fetched, url)
            base = state.base_of(fetched.snapshot.tags)
            chain = state.read_key(settings, chain=base.chain) if base else None
            if key is not None:
                await open_keys(fetched, programs, key.identity)
                chain = await applying.chain_of(
                    store,
                    fetched.snapshot,
                    programs,
                    identity=key.identity,
                    work=work,
                )
            after = await applying.check(store, fetched.snapshot, settings, chain=chain)
        return Checked(
            backup=fetched.snapshot.id[:8],
            made=manifest.made,
            leyden=manifest.leyden,
            schema=manifest.schema,
            rows=sum(manifest.facts.rows.values()),
            changes=after,
            changes_opened=base is None or chain is not None,
            keys_opened=key is not None,
            problems=list(found.problems),
        )


async def refuse_lost(platform: Platform, stored: set[str]) -> None:
    """Raise SetupError if the last successful backup is not in the store."""
    for each in await platform.database.reader.backup_results.all_():
        if each.kind == "run" and each.ok and each.snapshot not in stored:
            raise SetupError(
                f"backup_store: the last backup, {each.snapshot[:8]}, is missing: "
                "it was deleted, or the store was restored to an earlier state; run "
                "`leyden backup run`"
            )
