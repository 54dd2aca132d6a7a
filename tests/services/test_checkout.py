"""What is decided about a payment: what is held, and when a ticket is due."""

from datetime import timedelta
from functools import partial

import pytest

from leyden.domain import ledger
from leyden.domain.ledger import Entry, Reason
from leyden.domain.orders import Order, Status
from leyden.domain.payments import Invoice, InvoiceState, Outpoint, Output
from leyden.domain.units import Sats
from leyden.services.channels import checkout
from leyden.services.channels.shop import CLOSING, TICKET, ShopSettings
from leyden.values import replace
from tests.services.desk import HARBOUR, HELD, LATER, ORDER, QUOTE, Desk, of_the_order
from tests.services.till import Till, request_of

PRICE = QUOTE.total_fee
PROMISE = f"lightning:{ORDER.payment_hash}:promise"
PAID = ORDER.with_changes(status=Status.CREATING, paid_at=LATER, offered=True)


async def hear(desk: Desk, told: Invoice | Output) -> Order:
    async with desk.deciding() as (work, order):
        checkout.decide(work, order.id, told, ShopSettings())
    return await desk.order()


async def accept(desk: Desk, sats: int) -> Order:
    return await hear(
        desk,
        Invoice(
            payment_hash=ORDER.payment_hash,
            state=InvoiceState.ACCEPTED,
            sats=Sats(sats),
        ),
    )


@pytest.mark.parametrize(
    ("sats", "due"),
    [(1, {}), (PRICE - 1, {}), (PRICE, {TICKET: LATER}), (PRICE + 1, {TICKET: LATER})],
)
async def test_a_held_payment_of_the_price_makes_the_ticket_due(
    desk: Desk,
    sats: int,
    due: dict[str, object],
    logged: pytest.LogCaptureFixture,
) -> None:
    await desk.have(ORDER, {})
    given = PAID if due else ORDER
    for _ in range(2):
        assert await accept(desk, sats) == given.with_changes(
            invoice=InvoiceState.ACCEPTED, htlc_sats=Sats(sats)
        )
    assert ("took less than the invoice" in logged.text) == (sats < PRICE)
    assert await desk.all_due() == due
    assert await desk.written() == [
        of_the_order(
            key=PROMISE,
            what=Reason.HTLC_HELD,
            source="promised",
            target=HELD,
            sats=Sats(sats),
        )
    ]


async def test_a_payment_that_was_settled_is_not_held_again(desk: Desk) -> None:
    given = ORDER.with_changes(invoice=InvoiceState.SETTLED)
    await desk.have(given, {})
    assert await accept(desk, PRICE) == given
    assert await desk.all_due() == {}


@pytest.mark.parametrize(
    ("given", "sats"),
    [
        (ORDER.with_changes(status=Status.CREATING), PRICE),
        (ORDER.with_changes(status=Status.EXPIRED), PRICE),
        (ORDER.with_changes(invoice=InvoiceState.CANCELLED), PRICE),
        (replace(ORDER, invoice=None), PRICE),
        (ORDER, 0),
    ],
)
async def test_what_nobody_waits_for_is_handed_back(
    desk: Desk, given: Order, sats: int
) -> None:
    await desk.have(given, {})
    assert await accept(desk, sats) == given
    assert await desk.all_due() == {CLOSING: LATER}
    assert await desk.written() == []


async def test_an_order_that_is_paid_on_chain_closes_its_invoice(desk: Desk) -> None:
    await desk.have(ORDER, {HELD: PRICE - 1})
    coins = Output(
        outpoint=Outpoint("ab" * 32, 0),
        address=ORDER.onchain_address,
        sats=Sats(1),
        confirmations=0,
    )
    assert await hear(desk, coins) == ORDER
    assert await desk.all_due() == {}
    deep = replace(coins, confirmations=3)
    assert await hear(desk, deep) == PAID
    assert await desk.all_due() == {CLOSING: LATER, TICKET: LATER}
    assert await desk.database.reader.moves.of_order(ORDER.id) == [
        (Status.WAITING_PAYMENT, Status.CREATING)
    ]


async def test_what_is_settled_without_having_been_held_pays_too(desk: Desk) -> None:
    await desk.have(ORDER, {})
    settled = Invoice(
        payment_hash=ORDER.payment_hash, state=InvoiceState.SETTLED, sats=PRICE
    )
    assert await hear(desk, settled) == PAID.with_changes(
        invoice=InvoiceState.SETTLED, htlc_sats=PRICE
    )
    assert await desk.all_due() == {TICKET: LATER}


async def test_what_a_ticket_does_not_cost_becomes_credit_once_it_is_there(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order), PRICE + 500)
    await till.settle_down()
    written = await till.database.reader.ledger.of_order(order.id)
    promise, payment, surplus = [each.entry for each in written]
    of_it = partial(Entry, organization_id=HARBOUR, order_id=order.id)
    held = ledger.held(order.id)
    lightning = f"lightning:{order.payment_hash}"
    assert promise == of_it(
        key=f"{lightning}:promise",
        what=Reason.HTLC_HELD,
        source="promised",
        target=held,
        sats=Sats(PRICE + 500),
    )
    assert payment == of_it(
        key=lightning,
        what=Reason.PAYMENT,
        source="received",
        target="promised",
        sats=Sats(PRICE + 500),
    )
    assert surplus == of_it(
        key=f"ticketed:{order.id}:surplus:credit",
        what=Reason.SURPLUS,
        source=held,
        target=ledger.credit(HARBOUR),
        sats=Sats(500),
    )


async def test_the_auction_is_waited_for_since_the_payment(
    till: Till, logged: pytest.LogCaptureFixture
) -> None:
    order = await till.create()
    till.now += timedelta(minutes=10)
    till.payments.pay(request_of(order))
    till.market.away = True
    await till.hear()
    last = till.now + till.rules.ticket_patience
    for now, status in (
        (last - timedelta(microseconds=1), Status.CREATING),
        (last, Status.FAILED),
    ):
        till.now = now
        async with till.database.transaction() as tx:
            await tx.tasks.put(TICKET, order.id, due=now)
        await till.work(TICKET)
        assert await till.status(order) is status
    assert "the auction did not answer in time" in logged.text
    till.market.away = False
