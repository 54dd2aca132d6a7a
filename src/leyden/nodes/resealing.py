"""Resealing: replacing backups after their owner changed the password.

A seed is stored once, and resealing is the one exception: a request
replaces a backup only if it names the stored one by its digest. So two
windows that reseal at once cannot undo each other: the second is refused
and has to read the backups again. A request that is repeated, because its
answer was lost, changes nothing more.

Replaced backups are kept for thirty days, as they were sealed: if the new
password was a mistake, the old one still opens them.
"""

import hashlib
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from leyden.base import rights
from leyden.base.http import turns
from leyden.base.rules.sign_in import Right
from leyden.errors import Conflict, Malformed, NotFound
from leyden.nodes import backups
from leyden.nodes.fleet import Fleet
from leyden.nodes.rows.replaced_backups import ReplacedBackup
from leyden.nodes.views import get
from leyden.people import quotas
from leyden.values import Struct

LIMIT = 100
KEPT_FOR: Final = timedelta(days=30)
_AT_A_TIME: Final = 20  # of up to 16 KiB each: 2 ms


class BackupReplacement(Struct, frozen=True, kw_only=True):
    """A backup encrypted under a new password."""

    name: str | None  # a macaroon's; the seed has none
    replaces: str  # SHA-256, in hex, of the ciphertext whose place it takes
    value: str


async def reseal(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    anew: Sequence[BackupReplacement],
    *,
    actor: str,
    now: datetime,
) -> None:
    """Replace backups by the ones made from them: all of them, or none.

    What is stored already, by the same request before, stays.
    """
    await get(fleet, organization_id, node_id)
    if not 0 < len(anew) <= LIMIT:
        raise Malformed(f"backups: must have 1 to {LIMIT} entries")
    for each in anew:
        if each.name is not None:
            backups.check_name(each.name)
    if len({each.name for each in anew}) != len(anew):
        raise Malformed("backups: has a duplicate entry")
    for each in anew:
        kind: Literal["seed", "macaroon"] = "seed" if each.name is None else "macaroon"
        await backups.check(organization_id, each.value, kind=kind)
    found = [
        (each, *both)
        for each in anew
        if (both := await _seal(fleet, node_id, each)) is not None
    ]
    async with fleet.database.transaction() as tx:
        await rights.check(tx, actor, organization_id, Right.NODES)
        if not found:
            return
        for each, was, sealed in found:
            if each.name is None:
                await tx.backups.replace_seed(node_id, was, sealed)
            else:
                await tx.backups.replace_macaroon(node_id, each.name, was, sealed)
            await tx.replaced_backups.add(node_id, each.name or "", was, now=now)
        await quotas.check_replaced(tx, fleet.rules.quotas, organization_id)
        await tx.audit.add(
            at=now,
            actor=actor,
            organization_id=organization_id,
            action="backups resealed",
            subject=node_id,
            number=len(found),
        )


class Replaced(Struct, frozen=True, kw_only=True):
    """A replaced backup as its owner sent it, and when it was replaced."""

    name: str  # a macaroon's; the seed's is empty
    until: datetime
    value: str


async def replaced(
    fleet: Fleet, organization_id: str, node_id: str, *, now: datetime
) -> AsyncIterator[list[Replaced]]:
    """Return backups replaced in the last thirty days, newest first, page by page.

    All of them may be a hundred megabytes. Others' requests come between two pages.
    """
    await get(fleet, organization_id, node_id)
    rows = fleet.database.reader.replaced_backups
    first = await rows.page(node_id, limit=_AT_A_TIME)

    async def pages() -> AsyncIterator[list[Replaced]]:
        page = first
        while page:
            yield [
                _open(fleet, node_id, each) for each in page if now - each.at < KEPT_FOR
            ]
            await turns.take(organization_id)
            last = page[-1].number
            page = await rows.page(node_id, before=last, limit=_AT_A_TIME)

    return pages()


def _open(fleet: Fleet, node_id: str, stored: ReplacedBackup) -> Replaced:
    purpose = (
        backups.macaroon_purpose(node_id, stored.name)
        if stored.name
        else backups.seed_purpose(node_id)
    )
    value = fleet.sealer.open(stored.sealed, purpose=purpose).decode()
    return Replaced(name=stored.name, until=stored.at, value=value)


async def _seal(
    fleet: Fleet, node_id: str, anew: BackupReplacement
) -> tuple[bytes, bytes] | None:
    """Return the stored backup, as sealed, and its sealed replacement.

    Return None if the replacement is stored already.
    """
    reader = fleet.database.reader.backups
    kind = "seed" if anew.name is None else "macaroon"
    try:
        if anew.name is None:
            purpose = backups.seed_purpose(node_id)
            was = await reader.seed(node_id)
        else:
            purpose = backups.macaroon_purpose(node_id, anew.name)
            was = await reader.macaroon(node_id, anew.name)
    except NotFound:
        raise Conflict(f"{kind}: no backup with this name is stored") from None
    stored = fleet.sealer.open(was, purpose=purpose)
    if stored == anew.value.encode():
        return None
    if hashlib.sha256(stored).hexdigest() != anew.replaces.lower():
        raise Conflict(
            f"{kind}: has changed since you read it; read it again, and retry"
        )
    return was, fleet.sealer.seal(anew.value.encode(), purpose=purpose)
