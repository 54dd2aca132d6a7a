"""What is booked when an order is filled, entry by entry."""

from functools import partial

import pytest

from leyden.domain import ledger
from leyden.domain.ledger import Entry, Reason
from leyden.domain.orders import Order, Status
from leyden.domain.tickets import Lease
from leyden.domain.units import Sats
from leyden.services.channels.filling import fill
from leyden.values import replace
from tests.services.stored_order import (
    CREDIT,
    HARBOUR,
    HELD,
    ORDER,
    StoredOrder,
    of_the_order,
)

QUOTE = replace(
    ORDER.quote,
    service_fee=Sats(2_000),
    pool_fee=Sats(14_163),
    self_chan_balance_fee=Sats(0),
)
SUBMITTED = replace(ORDER, status=Status.SUBMITTED, quote=QUOTE)
PRICE = 16_163
entry = partial(of_the_order, source=HELD)
back = partial(entry, what=Reason.RELEASED)


def a_lease(cost: int) -> Lease:
    return Lease(
        channel_point=f"{'ab' * 32}:0",
        premium=Sats(cost - 3),
        execution_fee=Sats(2),
        chain_fee=Sats(1),
        self_chan_balance=Sats(0),
    )


def spent(to_auction: int, earned: int) -> list[Entry]:
    key = f"matched:{ORDER.id}"
    return [
        entry(
            key=f"{key}:{target}",
            what=what,
            target=target,
            sats=Sats(sats),
        )
        for what, target, sats in (
            (Reason.AUCTION, ledger.AUCTION, to_auction),
            (Reason.EARNED, ledger.EARNED, earned),
        )
        if sats
    ]


async def filled(
    stored_order: StoredOrder, order: Order, cost: int, **owes: int
) -> list[Entry]:
    """Fill an order of an organization that owes something; give what is booked."""
    kept = {"owed": ledger.owed(HARBOUR), "receivable": ledger.receivable(HARBOUR)}
    debts = {kept[name]: -sats for name, sats in owes.items()}
    await stored_order.have(order, {HELD: PRICE, **debts})
    async with stored_order.deciding() as (work, found):
        fill(work, found, a_lease(cost))
    leases = await stored_order.database.reader.leases.of_orders([ORDER.id])
    assert leases == {ORDER.id: a_lease(cost)}
    assert (await stored_order.order()).status is Status.FILLED
    return await stored_order.written()


async def test_what_the_auction_left_is_credit(stored_order: StoredOrder) -> None:
    assert await filled(stored_order, SUBMITTED, 10_000) == [
        back(key=f"unused:{ORDER.id}:credit", target=CREDIT, sats=Sats(4_163)),
        *spent(10_000, 2_000),
    ]


async def test_it_lowers_the_charge_then_what_the_chain_took_back(
    stored_order: StoredOrder,
) -> None:
    charged = replace(SUBMITTED, charged=Sats(100))
    assert await filled(stored_order, charged, 10_000, owed=300, receivable=40) == [
        back(
            key=f"unused:{ORDER.id}:owed",
            target=ledger.owed(HARBOUR),
            sats=Sats(100),
        ),
        back(
            key=f"unused:{ORDER.id}:receivable",
            target=ledger.receivable(HARBOUR),
            sats=Sats(40),
        ),
        back(key=f"unused:{ORDER.id}:credit", target=CREDIT, sats=Sats(4_023)),
        *spent(10_000, 2_000),
    ]


async def test_where_it_is_kept_it_is_earned(stored_order: StoredOrder) -> None:
    keeping = replace(SUBMITTED, quote=replace(QUOTE, keeps_unused_fee=True))
    assert await filled(stored_order, keeping, 10_000) == spent(10_000, 6_163)


@pytest.mark.parametrize("cost", [14_163, 14_164, PRICE])
async def test_where_nothing_is_left_nothing_comes_back(
    stored_order: StoredOrder, cost: int
) -> None:
    assert await filled(stored_order, SUBMITTED, cost) == spent(cost, PRICE - cost)


async def test_what_it_took_beyond_the_price_is_our_loss(
    stored_order: StoredOrder,
) -> None:
    assert await filled(stored_order, SUBMITTED, PRICE + 1) == [
        *spent(PRICE, 0),
        of_the_order(
            key=f"matched:{ORDER.id}:loss",
            what=Reason.AUCTION,
            source=ledger.CORRECTIONS,
            target=ledger.AUCTION,
            sats=Sats(1),
            note="the auction took more than was charged for it",
        ),
    ]
