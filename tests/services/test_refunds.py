"""Orders that get no ticket, and tickets that are nobody's: what is asked of whom."""

from datetime import timedelta
from typing import Unpack

import pytest

from leyden.domain.orders import Changes, Order, Status
from leyden.domain.payments import InvoiceState
from leyden.services.channels.shop import TICKET, WITHDRAWAL
from tests.services.till import PRICE, Till, request_of


async def rewrite(till: Till, order: Order, **changes: Unpack[Changes]) -> None:
    """Change an order behind everybody's back."""
    async with till.database.transaction() as tx:
        (was,) = await tx.orders.lock_many([order.id])
        await tx.orders.save([(was, was.with_changes(**changes))])


async def ask(till: Till, kind: str, order: Order) -> None:
    """Have a task of the order done, once."""
    async with till.database.transaction() as tx:
        await tx.tasks.put(kind, order.id, due=till.now)
    await till.work(kind)


async def is_due(till: Till, kind: str) -> bool:
    due = await till.database.reader.tasks.next_due(kind, now=till.now)
    return due is not None


async def test_a_held_payment_is_handed_back_before_its_order_fails(till: Till) -> None:
    till.market.refuses = "no"
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    till.payments.away = True
    await till.work(TICKET)
    assert await till.status(order) is Status.CREATING, "it is not known yet"
    till.payments.away = False
    till.now += timedelta(minutes=1)
    await till.work(TICKET)
    assert await till.status(order) is Status.FAILED
    assert till.payments.invoices[order.payment_hash].state is InvoiceState.CANCELLED
    assert not await is_due(till, TICKET)


async def test_coins_are_credited_without_asking_the_treasury(till: Till) -> None:
    till.market.refuses = "no"
    order = await till.create()
    till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.hear()
    till.payments.away = True
    await till.work(TICKET)
    assert await till.status(order) is Status.FAILED
    assert await till.credit() == PRICE
    till.payments.away = False
    till.now += timedelta(minutes=1)


@pytest.mark.parametrize(
    ("status", "offered", "withdrawn"),
    [
        (Status.CREATED, True, False),
        (Status.EXPIRED, False, False),
        (Status.EXPIRED, True, True),
    ],
)
async def test_an_order_that_moved_on_leaves_no_ticket_if_it_has_ended(
    till: Till,
    status: Status,
    offered: bool,  # noqa: FBT001
    withdrawn: bool,  # noqa: FBT001
) -> None:
    order = await till.create()
    await rewrite(till, order, status=status, offered=offered)
    await ask(till, TICKET, order)
    assert not await is_due(till, TICKET)
    assert await is_due(till, WITHDRAWAL) is withdrawn
    await rewrite(till, order, status=Status.WAITING_PAYMENT, offered=False)


async def ticketed(till: Till) -> Order:
    await till.give_credit(PRICE)
    order = await till.create()
    await till.settle_down()
    return await till.get(order)


async def test_only_the_ticket_of_an_order_that_ended_without_it_is_cancelled(
    till: Till, logged: pytest.LogCaptureFixture
) -> None:
    order = await ticketed(till)
    for status in (Status.CREATED, Status.FILLED):
        await rewrite(till, order, status=status)
        await ask(till, WITHDRAWAL, order)
        assert till.market.tickets()[order.ticket_ref] == "offered"
    await rewrite(till, order, status=Status.EXPIRED)
    await ask(till, WITHDRAWAL, order)
    assert till.market.tickets()[order.ticket_ref] == "cancelled"
    assert "after its order had ended" not in logged.text
    await rewrite(till, order, status=Status.CREATED)
    await till.cancel(order)


async def test_a_ticket_that_was_filled_all_the_same_is_told_of(
    till: Till, logged: pytest.LogCaptureFixture
) -> None:
    order = await ticketed(till)
    ticket = await till.ticket(order)
    assert till.market.register(ticket)
    assert till.market.match(ticket)
    await rewrite(till, order, status=Status.EXPIRED)
    await ask(till, WITHDRAWAL, order)
    assert "a ticket was filled after its order had ended" in logged.text
    await rewrite(till, order, status=Status.CREATED)
    await till.follow_tickets()


async def test_a_ticket_that_the_market_does_not_know_is_not_called_cancelled(
    till: Till,
) -> None:
    """By the market's own name for it: that of the order would be found missing."""
    order = await ticketed(till)
    await rewrite(till, order, status=Status.EXPIRED, ticket_ref="another")
    await ask(till, WITHDRAWAL, order)
    assert await is_due(till, WITHDRAWAL)
    await rewrite(till, order, status=Status.CREATED, ticket_ref=order.ticket_ref)
    await till.cancel(order)
