"""Prepare a restored database, and list what a person must review.

Whatever was revoked, spent or claimed since the backup is valid again. All sessions are
ended, and all API keys revoked if the operator says so; everything else is unchanged,
and listed for the operator.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Final

from leyden.base.database.database import Database, open_database
from leyden.base.database.stores import Stores
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import to_iso
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import ENDED, Order
from leyden.people import api_keys
from leyden.values import Struct

KEYS: Final = "api keys in force"
_AT_ONCE = 500


class Review(Struct, frozen=True, kw_only=True):
    """The number of ended sessions and keys, and what to review, by kind."""

    sessions_ended: int
    keys_revoked: int
    lists: dict[str, list[str]]


async def prepare(url: str, *, revoke_keys_as: str = "", now: datetime) -> Review:
    """End all sessions of a restored database; list what may be out of date.

    Revoke all API keys if `revoke_keys_as` names who wants that.
    """
    database = await open_database(url)
    try:
        async with database.transaction() as tx:
            ended = await tx.sessions.end_all()
            revoked = 0
            if revoke_keys_as:
                revoked = await api_keys.revoke_all(tx, actor=revoke_keys_as, now=now)
        return Review(
            sessions_ended=ended,
            keys_revoked=revoked,
            lists=await _lists(database, now),
        )
    finally:
        await database.close()


async def _lists(database: Database, now: datetime) -> dict[str, list[str]]:
    reader = database.reader
    found: dict[str, list[str]] = {
        KEYS: [],
        "members": [],
        "open invitations": [],
        "credit and debts": [],
        "coupons not claimed": await _coupons(reader),
        "orders under way": await _orders(reader),
        "nodes": [
            f"{node.name} ({node.id}), {node.status}"
            for node in await reader.nodes.all_()
            if not node.is_gone
        ],
    }
    for team in await reader.accounts.list_():
        found[KEYS] += [
            f"{team.name}: {key.name} ({key.hint}..., {key.id})"
            for key in await reader.keys.list_(team.id)
            if key.is_live(now)
        ]
        found["members"] += [
            f"{team.name}: {each.person.email}, {each.role}"
            for each in await reader.people.members(team.id)
        ]
        found["open invitations"] += [
            f"{team.name}: {each.email}, {each.role}"
            for each in await reader.invitations.list_(team.id, now=now)
        ]
        found["credit and debts"] += [each async for each in _balances(reader, team)]
    return found


async def _balances(reader: Stores, team: Organization) -> AsyncIterator[str]:
    credit, owed = ledger.credit(team.id), ledger.owed(team.id)
    found = await reader.ledger.balances([credit, owed])
    if found.get(credit) or found.get(owed):
        yield (
            f"{team.name}: credit {found.get(credit, 0):,} sat, owed "
            f"{-found.get(owed, 0):,} sat"
        )


async def _coupons(reader: Stores) -> list[str]:
    found, after = [], ""
    while batch := await reader.coupons.all_(after=after, limit=_AT_ONCE):
        after = batch[-1].id
        found += [
            f"{each.id[:8]}..., {each.sats:,} sat, of {to_iso(each.created)}"
            for each in batch
            if not each.claimed
        ]
    return found


async def _orders(reader: Stores) -> list[str]:
    found, after = [], ""
    while batch := await reader.orders.all_(after=after, limit=_AT_ONCE):
        after = batch[-1].id
        found += [_order(each) for each in batch if each.status not in ENDED]
    return found


def _order(order: Order) -> str:
    if not order.quote.source:
        return f"{order.id}, {order.status}"
    return (
        f"{order.id}, {order.status}, may be paid to {order.quote.source} since: "
        "compare it with the payments of your lnd that pays"
    )
