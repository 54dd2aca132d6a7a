"""An order whose ticket the market lost: named to a person, and ended by one alone."""

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.tickets.missing_tickets import abandon, list_missing
from leyden.errors import Conflict, Malformed, MarketAway, NotFound
from tests.channels.orders_harness import HARBOUR, PRICE, OrdersHarness, request_of
from tests.conftest import NOW

WHY = {"reason": "pool.db is gone", "actor": "operator:alice"}


async def ticketed(harness: OrdersHarness) -> Order:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    return order


async def lose(harness: OrdersHarness, order: Order) -> None:
    harness.market.forget(await harness.ticket(order))


@pytest.mark.parametrize("registered", [False, True])
async def test_what_was_paid_for_it_becomes_credit_once(
    harness: OrdersHarness, *, registered: bool
) -> None:
    order, other = await ticketed(harness), await ticketed(harness)
    assert await list_missing(harness.channels) == []
    if registered:
        harness.market.register(await harness.ticket(order))
        await harness.follow_tickets()
        assert await harness.status(order) is OrderStatus.SUBMITTED
    await lose(harness, order)
    await harness.follow_tickets()  # which ends nothing by itself
    assert [each.id for each in await list_missing(harness.channels)] == [order.id]
    with pytest.raises(MarketAway):
        await harness.cancel(order)

    for _ in range(2):
        ended = await abandon(harness.channels, order.id, **WHY)
        assert (ended.status, ended.credit_refund) == (OrderStatus.CANCELLED, PRICE)
    assert await harness.credit() == PRICE
    assert await list_missing(harness.channels) == []
    await harness.settle_down()  # nothing is left that somebody tries in vain
    tried = await harness.database.reader.counts.tried(limit=9)
    assert [each.key for each in tried] == []
    (line,) = await harness.database.reader.audit.latest(limit=1)
    assert (line.actor, line.action, line.subject, line.at) == (
        "operator:alice",
        "order abandoned",
        order.id,
        NOW,
    )
    assert line.detail["reason"] == "pool.db is gone"
    assert await harness.status(other) is OrderStatus.CREATED


async def test_a_corporate_account_owes_nothing_for_it(harness: OrdersHarness) -> None:
    async with harness.database.transaction() as tx:
        await tx.corporate_accounts.set_limit(HARBOUR, Sats(PRICE), since=harness.now)
    order = await harness.create()
    await harness.settle_down()
    await lose(harness, order)
    ended = await abandon(harness.channels, order.id, **WHY)
    assert ended.credit_refund == 0
    assert await harness.balance_of(f"owed:{HARBOUR}") == 0


async def test_what_is_not_lost_is_not_abandoned(harness: OrdersHarness) -> None:
    waiting = await harness.create()
    order = await ticketed(harness)
    for each, why in (
        (waiting, "an order that is waiting_payment has no ticket"),
        (order, "the market still knows the ticket; cancel the order instead"),
    ):
        with pytest.raises(Conflict, match=why):
            await abandon(harness.channels, each.id, **WHY)
    harness.market.away = True
    for request in (
        list_missing(harness.channels),
        abandon(harness.channels, order.id, **WHY),
    ):
        with pytest.raises(MarketAway):
            await request
    harness.market.away = False
    with pytest.raises(NotFound):
        await abandon(harness.channels, "nobody's", **WHY)
    await lose(harness, order)
    for reason in (" ", "x" * 501):
        with pytest.raises(Malformed, match="reason"):
            await abandon(
                harness.channels, order.id, reason=reason, actor="operator:alice"
            )
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.credit() == 0
