"""What is decided about a payment: what is held, and when a ticket is due."""

import asyncio
from datetime import timedelta
from functools import partial

import pytest

from leyden.base.rules.units import Sats
from leyden.base.tasks.work import Work
from leyden.channels import checkout
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import Invoice, InvoiceState, Outpoint, Output
from leyden.channels.services import CLOSING, OPENING, TICKET, ChannelSettings
from leyden.channels.tickets.ticket_source import TicketMaker, wait_for_ticket
from leyden.channels.wiring.channels import SOURCES
from leyden.values import replace
from tests.channels import test_direct_channels as direct
from tests.channels.orders_harness import LIGHTHOUSE, OrdersHarness, request_of
from tests.channels.stored_order import (
    HARBOUR,
    HELD,
    LATER,
    ORDER,
    QUOTE,
    StoredOrder,
    of_the_order,
)

PRICE = QUOTE.total_fee
PROMISE = f"lightning:{ORDER.payment_hash}:promise"
PAID = ORDER.with_changes(status=OrderStatus.CREATING, paid_at=LATER, offered=True)


async def hear(stored_order: StoredOrder, answer: Invoice | Output) -> Order:
    async with stored_order.deciding() as (work, order):
        checkout.decide(work, order.id, answer, ChannelSettings(), SOURCES)
    return await stored_order.order()


async def accept(stored_order: StoredOrder, sats: int) -> Order:
    return await hear(
        stored_order,
        Invoice(
            payment_hash=ORDER.payment_hash,
            state=InvoiceState.ACCEPTED,
            sats=Sats(sats),
            expires=871_234,
        ),
    )


@pytest.mark.parametrize(
    ("sats", "due"),
    [(1, {}), (PRICE - 1, {}), (PRICE, {TICKET: LATER}), (PRICE + 1, {TICKET: LATER})],
)
async def test_a_held_payment_of_the_price_makes_the_ticket_due(
    stored_order: StoredOrder,
    sats: int,
    due: dict[str, object],
    logged: pytest.LogCaptureFixture,
) -> None:
    await stored_order.have(ORDER, {})
    given = PAID if due else ORDER
    for _ in range(2):
        assert await accept(stored_order, sats) == given.with_changes(
            invoice=InvoiceState.ACCEPTED, htlc_sats=Sats(sats), htlc_expires=871_234
        )
    assert ("received less than the invoice" in logged.text) == (sats < PRICE)
    assert await stored_order.all_due() == due
    assert await stored_order.written() == [
        of_the_order(
            key=PROMISE,
            what=Reason.HTLC_HELD,
            source="promised",
            target=HELD,
            sats=Sats(sats),
        )
    ]


async def test_a_payment_that_was_settled_is_not_held_again(
    stored_order: StoredOrder,
) -> None:
    given = ORDER.with_changes(invoice=InvoiceState.SETTLED)
    await stored_order.have(given, {})
    assert await accept(stored_order, PRICE) == given
    assert await stored_order.all_due() == {}


@pytest.mark.parametrize(
    ("given", "sats"),
    [
        (ORDER.with_changes(status=OrderStatus.CREATING), PRICE),
        (ORDER.with_changes(status=OrderStatus.EXPIRED), PRICE),
        (ORDER.with_changes(invoice=InvoiceState.CANCELLED), PRICE),
        (replace(ORDER, invoice=None), PRICE),
        (ORDER, 0),
    ],
)
async def test_what_nobody_waits_for_is_handed_back(
    stored_order: StoredOrder, given: Order, sats: int
) -> None:
    await stored_order.have(given, {})
    assert await accept(stored_order, sats) == given
    assert await stored_order.all_due() == {CLOSING: LATER}
    assert await stored_order.written() == []


async def test_an_order_that_is_paid_on_chain_closes_its_invoice(
    stored_order: StoredOrder,
) -> None:
    await stored_order.have(ORDER, {HELD: PRICE - 1})
    coins = Output(
        outpoint=Outpoint("ab" * 32, 0),
        address=ORDER.onchain_address,
        sats=Sats(1),
        confirmations=0,
    )
    assert await hear(stored_order, coins) == ORDER
    assert await stored_order.all_due() == {}
    deep = replace(coins, confirmations=3)
    assert await hear(stored_order, deep) == PAID
    assert await stored_order.all_due() == {CLOSING: LATER, TICKET: LATER}
    assert await stored_order.database.reader.moves.of_order(ORDER.id) == [
        (OrderStatus.WAITING_PAYMENT, OrderStatus.CREATING)
    ]


async def test_what_is_settled_without_having_been_held_pays_too(
    stored_order: StoredOrder,
) -> None:
    await stored_order.have(ORDER, {})
    settled = Invoice(
        payment_hash=ORDER.payment_hash, state=InvoiceState.SETTLED, sats=PRICE
    )
    assert await hear(stored_order, settled) == PAID.with_changes(
        invoice=InvoiceState.SETTLED, htlc_sats=PRICE
    )
    assert await stored_order.all_due() == {TICKET: LATER}


async def test_what_a_ticket_does_not_cost_becomes_credit_once_it_is_there(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order), PRICE + 500)
    await harness.settle_down()
    written = await harness.database.reader.ledger.of_order(order.id)
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
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    order = await harness.create()
    harness.now += timedelta(minutes=10)
    harness.payments.pay(request_of(order))
    harness.market.away = True
    await harness.hear()
    last = harness.now + harness.rules.ticket_patience
    for now, status in (
        (last - timedelta(microseconds=1), OrderStatus.CREATING),
        (last, OrderStatus.FAILED),
    ):
        harness.now = now
        async with harness.database.transaction() as tx:
            await tx.tasks.put(TICKET, order.id, due=now)
        await harness.work(TICKET)
        assert await harness.status(order) is status
    (said,) = [each for each in logged.records if each.msg == "no ticket was created"]
    assert vars(said)["why"] == "the auction did not respond in time"
    harness.market.away = False


async def test_what_is_told_of_one_order_at_once_is_booked_in_its_order(
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    """Held, and cancelled again: the other way round it would be held for good."""
    order, other = await harness.create(), await harness.create(who=LIGHTHOUSE)
    answer = partial(Invoice, payment_hash=order.payment_hash)
    await checkout.record_payments(
        harness.channels,
        [
            answer(state=InvoiceState.ACCEPTED, sats=PRICE),
            Invoice(
                payment_hash=other.payment_hash, state=InvoiceState.ACCEPTED, sats=PRICE
            ),
            answer(state=InvoiceState.CANCELLED),
        ],
        now=LATER,
    )
    assert "one by one" not in logged.text
    assert await harness.status(order) is OrderStatus.FAILED
    assert await harness.status(other) is OrderStatus.CREATING
    assert (await harness.get(other)).paid_at == LATER


async def test_tickets_that_come_together_are_kept_together(
    harness: OrdersHarness,
) -> None:
    made = TicketMaker(harness.channels)
    paid = [await harness.create() for _ in range(3)]
    for order in paid:
        harness.payments.pay(request_of(order))
    await harness.hear()
    async with harness.database.transaction() as tx:
        until = harness.now + timedelta(seconds=30)
        claims = await tx.tasks.claim(TICKET, now=harness.now, until=until, limit=3)
    await asyncio.gather(*(made.make(Work(harness.database, each)) for each in claims))
    assert {await harness.status(order) for order in paid} == {OrderStatus.CREATED}
    assert await harness.database.reader.tasks.next_due(TICKET, now=until) is None


async def test_a_channel_of_the_sellers_own_needs_no_ticket(
    harness: OrdersHarness,
) -> None:
    harness.seller.fill([3_000_000])
    await harness.give_credit(direct.PRICE)
    await harness.create(direct.channel())
    due = harness.database.reader.tasks.next_due
    assert await due(OPENING, now=harness.now) == harness.now
    assert await due(TICKET, now=harness.now) is None


async def test_whoever_has_paid_is_shown_the_ticket_once_it_is_made(
    harness: OrdersHarness,
) -> None:
    harness.rules = replace(harness.rules, answer_waits=timedelta(minutes=1))
    await harness.give_credit(PRICE)
    order = await harness.create()
    assert order.status is OrderStatus.CREATING
    shown = asyncio.create_task(wait_for_ticket(harness.channels, order))
    await asyncio.sleep(0.02)  # it has looked, and looks again
    await harness.settle_down()
    async with asyncio.timeout(10):
        assert await shown == await harness.get(order)
    assert (await shown).status is OrderStatus.CREATED


async def test_after_a_while_nobody_waits_for_a_ticket_any_longer(
    harness: OrdersHarness,
) -> None:
    harness.rules = replace(harness.rules, answer_waits=timedelta(milliseconds=10))
    await harness.give_credit(PRICE)
    order = await harness.create()
    async with asyncio.timeout(10):
        assert (
            await wait_for_ticket(harness.channels, order)
        ).status is OrderStatus.CREATING
    await harness.settle_down()
    # Who has one is shown it as it is, and the database is not asked.
    made = await harness.get(order)
    assert await wait_for_ticket(harness.channels, made) is made
