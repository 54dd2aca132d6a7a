"""Verify the ledger and the other rules that must always hold.

The rules about money are checked against the ledger's entries; broken_rules.py lists
all rules. An empty result means that every rule holds. order_rules.py checks a single
order, treasury_rules.py compares with the treasury, and this module checks the rest.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from leyden.base.database.database import Database
from leyden.base.database.stores import Stores
from leyden.base.rules.times import utc_now
from leyden.channels.books import (
    extension_rules,
    jit_rules,
    order_rules,
    purchase_rules,
    purse_rules,
    treasury_rules,
)
from leyden.channels.books.broken_rules import Broken
from leyden.channels.direct.base import Purse
from leyden.channels.payments.base import Payments
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order
from leyden.events.pending import next_event
from leyden.nodes.runtimes.local.census import lnds

_BATCH = 200


async def verify(
    database: Database,
    payments: Payments | None = None,
    *,
    purse: Purse | None = None,
    nodes_at: Path | None = None,
) -> list[Broken]:
    """Check every rule without changing anything; return the violations.

    With `payments`, compare with the treasury too, and with `purse` with the lnd of
    just-in-time channels. `nodes_at` is the folder of this machine's nodes, if it has
    any.
    """
    # Of one moment: an order that moves between two reads would seem to break rules.
    async with database.snapshot() as books:
        broken = [each async for each in _accounts(books)]
        broken += [each async for each in _coupons(books)]
        broken += [each async for each in _orders(books)]
        broken += [each async for each in jit_rules.broken_by(books)]
        broken += [each async for each in extension_rules.broken_by(books)]
    broken += [
        Broken("I10", f"node {node_id} has pending webhooks, and no task sends them")
        for node_id in await database.reader.subscriptions.nodes_without_task()
    ]
    broken += [each async for each in _subscriptions(database)]
    broken += [Broken("I13", doubt) for doubt in await database.durability_risks()]
    if nodes_at is not None:
        broken += [
            Broken("I12", f"node {node_id}: {number} lnd processes run in its folder")
            for node_id, number in sorted(lnds(nodes_at).items())
            if number > 1
        ]
    if payments is not None:
        broken += [
            each async for each in treasury_rules.broken_by_identity(database, payments)
        ]
        broken += [
            each
            async for each in extension_rules.broken_by_payments(database, payments)
        ]
        async for orders in all_orders(database.reader):
            broken += [
                each
                async for each in treasury_rules.broken_by(database, payments, orders)
            ]
    if purse is not None:
        broken += [
            each
            async for each in purse_rules.broken_by(
                database.reader, purse, now=utc_now()
            )
        ]
    return broken


async def _orders(books: Stores) -> AsyncIterator[Broken]:
    async for orders in all_orders(books):
        leases = await books.leases.of_orders([each.id for each in orders])
        async for broken in purchase_rules.broken_by(books, orders):
            yield broken
        for order in orders:
            await asyncio.sleep(0)  # SQLite's reads let nobody else run
            async for each in order_rules.broken_by(books, order, leases.get(order.id)):
                yield each


async def _accounts(books: Stores) -> AsyncIterator[Broken]:
    reader = books.ledger
    sums = await reader.sums()
    if total := sum(sums.values()):
        yield Broken("I1", f"all entries together sum to {total:,} sat, not to 0")
    stored = await reader.stored_balances()
    for account in sorted({*stored, *filter(_has_stored_balance, sums)}):
        if stored.get(account, 0) != sums.get(account, 0):
            yield Broken(
                "I2",
                f"the stored balance of {account} is {stored.get(account, 0):,} sat, "
                f"but its entries sum to {sums.get(account, 0):,}",
            )
    for account, sats in sorted(sums.items()):
        if sats < 0 and not ledger.may_go_below_zero(account):
            yield Broken("I3", f"the balance of {account} is negative: {sats:,} sat")


def _has_stored_balance(account: str) -> bool:
    return ":" in account


async def _subscriptions(database: Database) -> AsyncIterator[Broken]:
    """Find subscriptions that are behind the event log and have no task.

    Read them twice: an event added between the two queries has its task by now.
    """
    reader = database.reader
    behind = [
        each
        for each in await reader.subscriptions.without_task()
        if (await next_event(reader, each, now=each.due))[0] is not None
    ]
    if behind:
        still = {
            (each.id, each.position)
            for each in await reader.subscriptions.without_task()
        }
        for each in behind:
            if (each.id, each.position) in still:
                what = f"subscription {each.id} is behind, and no task sends its events"
                yield Broken("I10", what)


async def _coupons(books: Stores) -> AsyncIterator[Broken]:
    paid_out = await books.ledger.sums()
    claimed = 0
    after = ""
    while batch := await books.coupons.all_(after=after, limit=_BATCH):
        after = batch[-1].id
        for coupon in batch:
            if not coupon.claimed:
                continue
            claimed += coupon.sats
            claimant = coupon.claimed_by or ""
            credit = ledger.credit(claimant)
            granted = 0
            for key in ledger.parts(f"coupon:{coupon.id}"):
                entry = await books.ledger.find(key)
                if entry and entry.entry.target in {
                    credit,
                    ledger.receivable(claimant),
                }:
                    granted += entry.entry.sats
            if granted != coupon.sats:
                what = f"a claimed coupon does not match the ledger ({credit})"
                yield Broken("I7", what)
    if -paid_out.get(ledger.PROMO, 0) != claimed:
        yield Broken(
            "I7",
            f"{-paid_out.get(ledger.PROMO, 0):,} sat were paid out for coupons, but "
            f"the claimed coupons are worth {claimed:,}",
        )


async def all_orders(rows: Stores) -> AsyncIterator[list[Order]]:
    """Yield all orders in batches, ordered by id."""
    after = ""
    while batch := await rows.orders.all_(after=after, limit=_BATCH):
        after = batch[-1].id
        yield batch
