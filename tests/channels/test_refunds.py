"""Orders that get no ticket, and tickets that are nobody's: what is asked of whom."""

from datetime import timedelta
from typing import Unpack

import pytest

from leyden.base.tasks.work import Work
from leyden.channels.refunds import refund
from leyden.channels.rules.orders import Order, OrderChanges, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.services import TICKET, WITHDRAWAL
from leyden.errors import Lost
from tests.channels.orders_harness import PRICE, OrdersHarness, request_of

CLAIMED_FOR = timedelta(seconds=30)


async def rewrite(
    harness: OrdersHarness, order: Order, **changes: Unpack[OrderChanges]
) -> None:
    """Change an order behind everybody's back."""
    async with harness.database.transaction() as tx:
        (was,) = await tx.orders.lock_many([order.id])
        await tx.orders.save([(was, was.with_changes(**changes))])


async def ask(harness: OrdersHarness, kind: str, order: Order) -> None:
    """Have a task of the order done, once."""
    async with harness.database.transaction() as tx:
        await tx.tasks.put(kind, order.id, due=harness.now)
    await harness.work(kind)


async def claimed(harness: OrdersHarness) -> Work:
    """Claim the one order that waits for its ticket."""
    async with harness.database.transaction() as tx:
        until = harness.now + CLAIMED_FOR
        (claim,) = await tx.tasks.claim(TICKET, now=harness.now, until=until, limit=1)
    return Work(harness.database, claim)


async def is_due(harness: OrdersHarness, kind: str) -> bool:
    due = await harness.database.reader.tasks.next_due(kind, now=harness.now)
    return due is not None


async def test_a_held_payment_is_handed_back_before_its_order_fails(
    harness: OrdersHarness,
) -> None:
    harness.market.refuses = "no"
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    harness.payments.away = True
    await harness.work(TICKET)
    assert await harness.status(order) is OrderStatus.CREATING, "it is not known yet"
    harness.payments.away = False
    harness.now += timedelta(minutes=1)
    await harness.work(TICKET)
    assert await harness.status(order) is OrderStatus.FAILED
    assert harness.payments.invoices[order.payment_hash].state is InvoiceState.CANCELLED
    assert not await is_due(harness, TICKET)


async def test_who_lost_the_order_to_another_process_hands_nothing_back(
    harness: OrdersHarness,
) -> None:
    """It slept for so long, and the other may be opening the channel by now."""
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    slept = await claimed(harness)
    harness.now += CLAIMED_FOR
    other = await claimed(harness)
    harness.now += CLAIMED_FOR
    order = await harness.get(order)
    with pytest.raises(Lost):
        await refund(harness.channels, slept, order)
    assert harness.payments.invoices[order.payment_hash].state is InvoiceState.ACCEPTED
    await refund(harness.channels, other, order)
    assert harness.payments.invoices[order.payment_hash].state is InvoiceState.CANCELLED
    assert await harness.status(order) is OrderStatus.FAILED


@pytest.mark.parametrize("point", ["", f"{'5f' * 32}:0"])
async def test_a_channel_that_may_open_nevertheless_is_kept_with_its_order(
    harness: OrdersHarness, point: str
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    work, order = await claimed(harness), await harness.get(order)
    if point:
        await refund(harness.channels, work, order, channel_point=point)
    else:
        await refund(harness.channels, work, order)
    order = await harness.get(order)
    assert (order.status, order.channel_point) == (OrderStatus.FAILED, point)


async def test_coins_are_credited_without_asking_the_treasury(
    harness: OrdersHarness,
) -> None:
    harness.market.refuses = "no"
    order = await harness.create()
    harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.hear()
    harness.payments.away = True
    await harness.work(TICKET)
    assert await harness.status(order) is OrderStatus.FAILED
    assert await harness.credit() == PRICE
    harness.payments.away = False
    harness.now += timedelta(minutes=1)


@pytest.mark.parametrize(
    ("status", "offered", "withdrawn"),
    [
        (OrderStatus.CREATED, True, False),
        (OrderStatus.EXPIRED, False, False),
        (OrderStatus.EXPIRED, True, True),
    ],
)
async def test_an_order_that_moved_on_leaves_no_ticket_if_it_has_ended(
    harness: OrdersHarness,
    status: OrderStatus,
    offered: bool,  # noqa: FBT001
    withdrawn: bool,  # noqa: FBT001
) -> None:
    order = await harness.create()
    await rewrite(harness, order, status=status, offered=offered)
    await ask(harness, TICKET, order)
    assert not await is_due(harness, TICKET)
    assert await is_due(harness, WITHDRAWAL) is withdrawn
    await rewrite(harness, order, status=OrderStatus.WAITING_PAYMENT, offered=False)


async def ticketed(harness: OrdersHarness) -> Order:
    await harness.give_credit(PRICE)
    order = await harness.create()
    await harness.settle_down()
    return await harness.get(order)


async def test_only_the_ticket_of_an_order_that_ended_without_it_is_cancelled(
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    order = await ticketed(harness)
    for status in (OrderStatus.CREATED, OrderStatus.FILLED):
        await rewrite(harness, order, status=status)
        await ask(harness, WITHDRAWAL, order)
        assert harness.market.tickets()[order.ticket_ref] == "offered"
    await rewrite(harness, order, status=OrderStatus.EXPIRED)
    await ask(harness, WITHDRAWAL, order)
    assert harness.market.tickets()[order.ticket_ref] == "cancelled"
    assert "after its order had ended" not in logged.text
    await rewrite(harness, order, status=OrderStatus.CREATED)
    await harness.cancel(order)


async def test_a_ticket_that_was_filled_all_the_same_is_told_of(
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    order = await ticketed(harness)
    ticket = await harness.ticket(order)
    assert harness.market.register(ticket)
    assert harness.market.match(ticket)
    await rewrite(harness, order, status=OrderStatus.EXPIRED)
    await ask(harness, WITHDRAWAL, order)
    assert "a ticket was filled after its order had ended" in logged.text
    found = await harness.database.reader.findings.list_(now=harness.now)
    assert [each[:2] for each in found] == [("order.unpaid", order.id)]
    await rewrite(harness, order, status=OrderStatus.CREATED)
    await harness.follow_tickets()


async def test_a_ticket_that_the_market_does_not_know_is_not_called_cancelled(
    harness: OrdersHarness,
) -> None:
    """By the market's own name for it: that of the order would be found missing."""
    order = await ticketed(harness)
    await rewrite(harness, order, status=OrderStatus.EXPIRED, ticket_ref="another")
    await ask(harness, WITHDRAWAL, order)
    assert await is_due(harness, WITHDRAWAL)
    await rewrite(
        harness, order, status=OrderStatus.CREATED, ticket_ref=order.ticket_ref
    )
    await harness.cancel(order)
