"""What happens between a look and the transaction that acts on it."""

from dataclasses import replace  # noqa: TID251

import pytest

from leyden.domain.orders import Order, Status
from leyden.errors import NotAllowed, RightsChanged, Stale
from leyden.services.channels import orders
from tests.services.hesitant import Happens, Hesitant
from tests.services.till import HARBOUR, PRICE, Till, request_of

ORDER_ID = "5b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55FO"


def late(till: Till, happens: Happens) -> Till:
    """Return the same shop for somebody who looks, and acts when this has happened."""
    return replace(till, database=Hesitant(till.database, happens))


async def cancel(till: Till, order: Order) -> Order:
    """Cancel it, without trying again."""
    return await orders.cancel(till.shop, HARBOUR, order.id, actor="test", now=till.now)


async def test_who_makes_an_order_twice_at_once_is_told_where_its_money_counts(
    till: Till,
) -> None:
    """Each has asked for an address; the order has one."""
    made: list[Order] = []

    async def first() -> None:
        made.append(await till.create(order_id=ORDER_ID))

    assert await late(till, first).create(order_id=ORDER_ID) == made[0]


async def test_an_order_that_gets_its_ticket_while_it_is_cancelled_keeps_it(
    till: Till,
) -> None:
    """Else the credit would be there before the market has let the ticket go."""
    order = await till.create()

    async def paid() -> None:
        till.payments.pay(request_of(order))
        await till.settle_down()

    with pytest.raises(Stale):
        await cancel(late(till, paid), order)
    assert await till.status(order) is Status.CREATED
    assert await till.credit() == 0
    assert (await cancel(till, order)).credit_refund == PRICE


@pytest.mark.parametrize("paid", [False, True])
async def test_two_who_cancel_at_once_are_told_the_same(
    till: Till,
    paid: bool,  # noqa: FBT001
) -> None:
    order = await till.create()
    if paid:
        till.payments.pay(request_of(order))
        await till.settle_down()
    cancelled: list[Order] = []

    async def first() -> None:
        cancelled.append(await cancel(till, order))

    assert await cancel(late(till, first), order) == cancelled[0]
    assert await till.credit() == (PRICE if paid else 0)


async def test_an_order_that_is_being_created_meanwhile_is_not_cancelled(
    till: Till,
) -> None:
    order = await till.create()
    till.market.away = True

    async def paid() -> None:
        till.payments.pay(request_of(order))
        await till.settle_down()

    with pytest.raises(Stale):
        await cancel(late(till, paid), order)
    with pytest.raises(NotAllowed):
        await cancel(till, order)
    assert await till.status(order) is Status.CREATING


async def test_who_may_not_spend_any_more_takes_no_ticket_from_the_market(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    with pytest.raises(RightsChanged):
        await orders.cancel(
            till.shop, HARBOUR, order.id, actor="user:mallory", now=till.now
        )
    till.market.register(await till.ticket(order))  # where it still is
    await till.follow_tickets()
    assert await till.status(order) is Status.SUBMITTED
