"""The ticket is made once, and the payment is taken only for a ticket."""

from datetime import timedelta

import pytest

from leyden.domain import ledger
from leyden.domain.orders import Status
from leyden.domain.payments import InvoiceState
from leyden.errors import Stale
from leyden.services.shop import TICKET
from leyden.services.tickets import TicketMaker
from leyden.tasks import Work
from tests.services.till import PRICE, Till, request_of


async def test_a_lightning_payment_buys_a_ticket(till: Till) -> None:
    order = await till.create()
    assert (order.status, order.paid) == (Status.WAITING_PAYMENT, False)
    assert order.amount_due == PRICE
    till.payments.pay(request_of(order))
    await till.hear()
    paid = await till.get(order)
    assert (paid.status, paid.paid) == (Status.CREATING, True)
    assert await till.ticket(order) == ""
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    assert (await till.ticket(order)).startswith("sidecar1")
    assert await till.place(ledger.RECEIVED) == -PRICE
    assert await till.place(ledger.PROMISED) == 0
    assert till.payments.received() == PRICE


async def test_the_payment_is_taken_only_after_the_ticket_exists(till: Till) -> None:
    order = await till.create()
    till.market.away = True
    till.payments.pay(request_of(order))
    await till.settle_down()
    assert await till.status(order) is Status.CREATING
    assert till.payments.received() == 0
    till.market.away = False
    await till.pass_time(minutes=2)
    assert await till.status(order) is Status.CREATED
    assert till.payments.received() == PRICE


async def test_without_a_ticket_the_payer_keeps_the_money(till: Till) -> None:
    till.market.refuses = "the account is empty"
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    failed = await till.get(order)
    assert (failed.status, failed.paid) == (Status.FAILED, False)
    assert await till.credit() == 0
    assert till.payments.received() == 0
    invoice = till.payments.invoices[order.payment_hash]
    assert invoice.state is InvoiceState.CANCELLED


async def test_an_auction_that_never_answers_costs_the_payer_nothing(
    till: Till,
) -> None:
    order = await till.create()
    till.market.away = True
    till.payments.pay(request_of(order))
    await till.settle_down()
    for _ in range(31):
        await till.pass_time(minutes=1)
    assert await till.status(order) is Status.FAILED
    assert till.payments.received() == 0


async def test_a_ticket_whose_payment_went_away_is_cancelled(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    till.payments.time_out(request_of(order))
    till.deafen()
    await till.settle_down()
    assert await till.status(order) is Status.FAILED
    assert await till.credit() == 0
    assert set(till.market.tickets().values()) == {"cancelled"}


async def test_a_payment_that_goes_away_before_the_ticket_fails_the_order(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    till.payments.time_out(request_of(order))
    await till.settle_down()
    assert await till.status(order) is Status.FAILED
    assert await till.place(ledger.PROMISED) == 0


async def test_lost_answers_are_asked_for_again(till: Till) -> None:
    """T-lndhub3: an external step hangs, is repeated, and happens once."""
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    till.market.answers_lost = 2
    till.payments.answers_lost = 2
    for _ in range(6):
        await till.pass_time(minutes=1)
    assert await till.status(order) is Status.CREATED
    assert till.payments.received() == PRICE
    assert len(till.market.tickets()) == 1


async def test_a_zombie_writes_nothing(till: Till) -> None:
    """F13: whoever slept through its lease finds out before it writes."""
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    async with till.database.transaction() as tx:
        (claim,) = await tx.tasks.claim(
            TICKET, now=till.now, until=till.now + timedelta(seconds=30), most=1
        )
    till.now += timedelta(minutes=1)
    await till.work()
    assert await till.status(order) is Status.CREATED
    with pytest.raises(Stale):
        await TicketMaker(till.shop).make(Work(till.database, claim))
    assert len(till.market.tickets()) == 1
