"""Check changes in the store, and apply them to a backup's database."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from leyden.backups import copies
from leyden.backups.backup_files import Programs
from leyden.backups.changes import state
from leyden.backups.changes.state import Base
from leyden.backups.store import changes
from leyden.backups.store.changes import KEY, KEY_BYTES, ChangeChain
from leyden.backups.store.objects import Objects, objects
from leyden.backups.store.store import Snapshot, Store
from leyden.base.settings import Settings
from leyden.errors import SetupError

_AT_ONCE: Final = 8


async def apply(
    store: Store, snapshot: Snapshot, database: Path, *, chain: ChangeChain
) -> datetime | None:
    """Apply later changes to a backup's database; return the time of the last one.

    Return None if there are none. Raise SetupError if anything is damaged or missing.
    """
    if (base := state.base_of(snapshot.tags)) is None:
        return None
    with contextlib.closing(changes.ChangeTarget(database)) as target:
        async for content in _contents(objects(store.access), chain, base):
            await asyncio.to_thread(target.apply, content)
    if not (until := target.made):
        return None
    if harm := await asyncio.to_thread(copies.damage, database):
        raise SetupError(f"later changes damage the database: {harm}")
    return datetime.fromtimestamp(until, UTC)


async def check(
    store: Store, snapshot: Snapshot, settings: Settings, *, chain: ChangeChain | None
) -> int:
    """Read and decrypt each object that a restore would apply; return their number.

    Raise SetupError with the one that is damaged or missing. Nothing is read without
    the key of the chain: another one has begun, or the home is a new one.
    """
    base = state.base_of(snapshot.tags)
    if base is None or chain is None:
        return 0
    known = state.read(settings)
    found = 0
    async for _ in _contents(objects(store.access), chain, base):
        found += 1
    sent = known.number if known is not None and known.chain == base.chain else 0
    if base.number + found < sent:
        raise _missing(chain, base.number + found + 1)
    return found


async def chain_of(
    store: Store, snapshot: Snapshot, programs: Programs, *, identity: str, work: Path
) -> ChangeChain | None:
    """Return the chain that follows a backup; the recovery key decrypts its key."""
    if (base := state.base_of(snapshot.tags)) is None:
        return None
    sealed = await objects(store.access).get(f"{base.chain}/{KEY}")
    if sealed is None:
        raise SetupError(f"changes/{base.chain}/{KEY} is missing in the store. {_SKIP}")
    path = work / KEY
    await asyncio.to_thread(path.write_bytes, sealed)
    found = ChangeChain(await programs.age.decrypt(path, identity))
    path.unlink()
    if found.name != base.chain or len(found.key) != KEY_BYTES:
        raise SetupError(f"changes/{base.chain}/{KEY} was replaced. {_SKIP}")
    return found


async def prune(store: Store, settings: Settings) -> None:
    """Delete changes from before the second to last backup."""
    bases_ = [state.base_of(each.tags) for each in (await store.snapshots())[-2:]]
    bases = {base.chain: base.number for base in reversed(bases_) if base is not None}
    objects_ = objects(store.access)
    names = await objects_.names("")
    # Read after the names, as a chain may have begun meanwhile: whose key is in the
    # store is in the state already.
    growing = state.read(settings)
    for name in names:
        chain = name.partition("/")[0]
        number = changes.number_of(name)
        if growing is not None and chain == growing.chain and chain not in bases:
            continue
        if chain not in bases or (number is not None and number <= bases[chain]):
            await objects_.delete(name)


_SKIP: Final = (
    "To restore a backup without later changes, name it with `--backup`: see `leyden "
    "backup list`"
)


def _missing(chain: ChangeChain, number: int) -> SetupError:
    return SetupError(
        f"changes/{chain.object_name(number)} is missing in the store. {_SKIP}"
    )


async def _contents(
    objects_: Objects, chain: ChangeChain, base: Base
) -> AsyncIterator[bytes]:
    """Yield the contents of all objects after a base, in order, without a gap."""
    names = await objects_.names(f"{chain.name}/")
    if f"{chain.name}/{KEY}" not in names:
        raise SetupError(f"changes/{chain.name}/{KEY} is missing in the store. {_SKIP}")
    numbers = map(changes.number_of, names)
    last = max((each for each in numbers if each is not None), default=0)
    if last < base.through:
        raise _missing(chain, last + 1)
    wanted = range(base.number + 1, last + 1)
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        fetched = await asyncio.gather(
            *(objects_.get(chain.object_name(number)) for number in some)
        )
        for number, sealed in zip(some, fetched, strict=True):
            if sealed is None:
                raise _missing(chain, number)
            try:
                content = chain.open(number, sealed)
            except SetupError as error:
                raise SetupError(f"{error.message}. {_SKIP}") from None
            yield content
