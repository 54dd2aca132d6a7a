"""What happens between a look and the transaction that acts on it."""

from dataclasses import replace  # noqa: TID251

import pytest

from leyden.channels import orders
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.errors import NotAllowed, RightsChanged, Stale
from tests.channels.orders_harness import HARBOUR, PRICE, OrdersHarness, request_of
from tests.channels.pausing_database import Happens, PausingDatabase

ORDER_ID = "5b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55FO"


def late(harness: OrdersHarness, happens: Happens) -> OrdersHarness:
    """Return the same shop for somebody who looks, and acts when this has happened."""
    return replace(harness, database=PausingDatabase(harness.database, happens))


async def cancel(harness: OrdersHarness, order: Order) -> Order:
    """Cancel it, without trying again."""
    return await orders.cancel(
        harness.channels, HARBOUR, order.id, actor="test", now=harness.now
    )


async def test_who_makes_an_order_twice_at_once_is_told_where_its_money_counts(
    harness: OrdersHarness,
) -> None:
    """Each has asked for an address; the order has one."""
    made: list[Order] = []

    async def first() -> None:
        made.append(await harness.create(order_id=ORDER_ID))

    assert await late(harness, first).create(order_id=ORDER_ID) == made[0]


async def test_an_order_that_gets_its_ticket_while_it_is_cancelled_keeps_it(
    harness: OrdersHarness,
) -> None:
    """Else the credit would be there before the market has let the ticket go."""
    order = await harness.create()

    async def paid() -> None:
        harness.payments.pay(request_of(order))
        await harness.settle_down()

    with pytest.raises(Stale):
        await cancel(late(harness, paid), order)
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.credit() == 0
    assert (await cancel(harness, order)).credit_refund == PRICE


@pytest.mark.parametrize("paid", [False, True])
async def test_two_who_cancel_at_once_are_told_the_same(
    harness: OrdersHarness,
    paid: bool,  # noqa: FBT001
) -> None:
    order = await harness.create()
    if paid:
        harness.payments.pay(request_of(order))
        await harness.settle_down()
    cancelled: list[Order] = []

    async def first() -> None:
        cancelled.append(await cancel(harness, order))

    assert await cancel(late(harness, first), order) == cancelled[0]
    assert await harness.credit() == (PRICE if paid else 0)


async def test_an_order_that_is_being_created_meanwhile_is_not_cancelled(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.market.away = True

    async def paid() -> None:
        harness.payments.pay(request_of(order))
        await harness.settle_down()

    with pytest.raises(Stale):
        await cancel(late(harness, paid), order)
    with pytest.raises(NotAllowed):
        await cancel(harness, order)
    assert await harness.status(order) is OrderStatus.CREATING


async def test_who_may_not_spend_any_more_takes_no_ticket_from_the_market(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    with pytest.raises(RightsChanged):
        await orders.cancel(
            harness.channels, HARBOUR, order.id, actor="user:mallory", now=harness.now
        )
    harness.market.register(await harness.ticket(order))  # where it still is
    await harness.follow_tickets()
    assert await harness.status(order) is OrderStatus.SUBMITTED
