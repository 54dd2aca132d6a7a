"""What a payment does, case by case: nothing lost, nothing booked twice."""

from datetime import timedelta

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.checkout import record_payment, record_payments
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.rules.payments import GONE, Invoice, InvoiceState, Outpoint, Output
from leyden.channels.services import CLOSING, ChannelSettings
from leyden.errors import NotAllowed, NotFound
from tests.channels.orders_harness import LIGHTHOUSE, PRICE, OrdersHarness, request_of
from tests.fakes.payments import PaymentFailed


async def test_paying_more_over_lightning_makes_credit(harness: OrdersHarness) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order), PRICE + 837)
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.credit() == 837


async def test_events_that_come_again_change_nothing(harness: OrdersHarness) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order), PRICE + 1)
    await harness.settle_down()
    for _ in range(3):
        await harness.hear_again()
        await harness.settle_down()
    assert await harness.credit() == 1
    assert await harness.balance_of(ledger.RECEIVED) == -PRICE - 1


async def test_lightning_that_slips_through_after_the_end_becomes_credit(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    await harness.cancel(order)
    settled = Invoice(
        payment_hash=order.payment_hash, state=InvoiceState.SETTLED, sats=Sats(PRICE)
    )
    harness.payments.invoices[order.payment_hash] = settled
    await harness.settle_down()
    await record_payment(harness.channels, settled, now=harness.now)
    assert await harness.credit() == PRICE
    assert await harness.status(order) is OrderStatus.CANCELLED


async def test_lightning_that_is_held_after_the_end_is_handed_back(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.cancel(order)  # the payment is there, and not heard of yet
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CANCELLED
    assert await harness.credit() == 0
    assert harness.payments.received() == 0


async def test_both_rails_at_once_pay_once(harness: OrdersHarness) -> None:
    """T-blink1295: Lightning is first, the coins become credit."""
    order = await harness.create()
    harness.payments.pay(request_of(order))
    harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.credit() == PRICE
    assert await harness.balance_of(ledger.RECEIVED) == -2 * PRICE


async def test_someone_elses_money_is_let_be(harness: OrdersHarness) -> None:
    order = await harness.create()
    await record_payment(
        harness.channels,
        Invoice(payment_hash="ff" * 32, state=InvoiceState.SETTLED, sats=Sats(99)),
        now=harness.now,
    )
    elsewhere = Output(
        outpoint=Outpoint("ee" * 32, 0),
        address="bcrt1qelsewhere",
        sats=Sats(99),
        confirmations=6,
    )
    await record_payment(harness.channels, elsewhere, now=harness.now)
    assert await harness.balance_of(ledger.RECEIVED) == 0
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT


async def test_a_treasury_that_takes_too_little_sells_nothing(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    short = Invoice(
        payment_hash=order.payment_hash,
        state=InvoiceState.ACCEPTED,
        sats=Sats(PRICE - 1),
    )
    harness.payments.invoices[order.payment_hash] = short
    await record_payment(harness.channels, short, now=harness.now)
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    await harness.pass_time(minutes=61)
    assert await harness.status(order) is OrderStatus.EXPIRED
    assert await harness.credit() == 0
    assert harness.payments.received() == 0
    # What was held is the payer's again.
    assert harness.payments.invoices[order.payment_hash].state is InvoiceState.CANCELLED


async def test_a_treasury_that_holds_nothing_sells_nothing(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    for sats in (0, -5):
        nothing = Invoice(
            payment_hash=order.payment_hash,
            state=InvoiceState.ACCEPTED,
            sats=Sats(sats),
        )
        await record_payment(harness.channels, nothing, now=harness.now)
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    assert (await harness.get(order)).invoice is InvoiceState.OPEN
    await harness.settle_down()
    # Nobody pays into an invoice of which such things are told.
    assert harness.payments.invoices[order.payment_hash].state is InvoiceState.CANCELLED


async def test_what_was_told_of_a_closed_invoice_comes_too_late(
    harness: OrdersHarness,
) -> None:
    """The chain paid, the invoice was closed, and then the chain took it back."""
    order = await harness.create()
    harness.market.away = True
    coin = harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    harness.payments.reorganise(1, drop=[coin])
    await harness.start_sweeping()
    waits = await harness.get(order)
    assert (waits.status, waits.invoice) == (
        OrderStatus.WAITING_PAYMENT,
        InvoiceState.CANCELLED,
    )
    late = Invoice(
        payment_hash=order.payment_hash, state=InvoiceState.ACCEPTED, sats=Sats(PRICE)
    )
    await record_payment(harness.channels, late, now=harness.now)
    await harness.settle_down()
    assert await harness.get(order) == waits
    assert await harness.balance_of(ledger.held(order.id)) == 0


async def test_a_payment_that_is_wanted_again_is_not_closed(
    harness: OrdersHarness,
) -> None:
    """The chain paid and took it back before anybody came to close the invoice."""
    order = await harness.create()
    coin = harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.hear()
    harness.payments.reorganise(1, drop=[coin])
    gone = Output(
        outpoint=coin,
        address=order.onchain_address,
        sats=Sats(PRICE),
        confirmations=GONE,
    )
    await record_payment(harness.channels, gone, now=harness.now)
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    harness.market.away = True
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATING
    harness.market.away = False
    await harness.pass_time(minutes=1)
    assert await harness.status(order) is OrderStatus.CREATED
    assert harness.payments.received() == PRICE


async def test_a_payment_that_was_taken_as_its_invoice_was_closed_is_credit(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    harness.deafen()
    await harness.cancel(order)
    assert await harness.payments.settle(request_of(order))  # by whoever runs the lnd
    harness.deafen()
    await harness.settle_down()
    assert await harness.credit() == PRICE
    assert await harness.status(order) is OrderStatus.CANCELLED


async def test_a_cancelled_order_cannot_be_paid(harness: OrdersHarness) -> None:
    order = await harness.create()
    await harness.cancel(order)
    await harness.settle_down()
    with pytest.raises(PaymentFailed):
        harness.payments.pay(request_of(order))


async def test_someone_elses_order_cannot_be_cancelled(harness: OrdersHarness) -> None:

    order = await harness.create()
    with pytest.raises(NotFound):
        await harness.cancel(order, who=LIGHTHOUSE)


async def test_an_order_that_is_being_created_cannot_be_cancelled(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    with pytest.raises(NotAllowed, match="is creating cannot be cancelled"):
        await harness.cancel(order)


def test_the_rules_have_room_before_any_time_lock() -> None:
    """A held payment's lock is 80 blocks and more: thirteen hours."""
    assert ChannelSettings().ticket_patience < timedelta(hours=2)


async def test_what_is_told_twice_in_one_breath_is_booked_once(
    harness: OrdersHarness,
) -> None:
    """The stream and a look may tell of it at once, here or in another process."""
    first, second = await harness.create(), await harness.create()
    for order in (first, second):
        harness.payments.pay(request_of(order))
    held = harness.payments.invoices[first.payment_hash]
    assert await harness.payments.settle(request_of(second))
    settled = harness.payments.invoices[second.payment_hash]
    harness.deafen()
    await record_payments(
        harness.channels, [held, held, settled, settled], now=harness.now
    )
    due = await harness.database.reader.tasks.next_due(CLOSING, now=harness.now)
    assert due is None, "what is held is not handed back"
    await harness.settle_down()
    for order in (first, second):
        assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.balance_of(ledger.RECEIVED) == -2 * PRICE


async def test_a_payment_that_cannot_be_booked_stops_no_other(
    harness: OrdersHarness,
) -> None:
    """Not even when it is told of between two others, with a sum beyond reason."""
    orders = [await harness.create() for _ in range(3)]
    answer = [
        Invoice(
            payment_hash=each.payment_hash, state=InvoiceState.SETTLED, sats=Sats(sats)
        )
        for each, sats in zip(orders, (PRICE, 2**70, PRICE), strict=True)
    ]
    await record_payments(harness.channels, answer, now=harness.now)
    assert [await harness.status(each) for each in orders] == [
        OrderStatus.CREATING,
        OrderStatus.WAITING_PAYMENT,
        OrderStatus.CREATING,
    ]
    assert await harness.balance_of(ledger.RECEIVED) == -2 * PRICE
    ((kind, subject, _),) = await harness.database.reader.findings.list_(
        now=harness.now
    )
    assert (kind, subject) == ("payment.unbooked", orders[1].id)
    for order in orders[::2]:
        harness.payments.pay(request_of(order))
        harness.payments.invoices[order.payment_hash] = answer[orders.index(order)]
    harness.deafen()


@pytest.mark.parametrize("sats", [PRICE - 1, PRICE, PRICE + 1])
async def test_every_fee_is_inside_what_credit_is_held_against(
    harness: OrdersHarness, sats: int
) -> None:
    """T-lnbits440: one satoshi short of all fees together is short."""
    await harness.give_credit(sats)
    order = await harness.create()
    await harness.settle_down()
    assert order.credit_used == min(sats, PRICE)
    assert order.to_be_paid == max(PRICE - sats, 0)
    covered = sats >= PRICE
    expected = OrderStatus.CREATED if covered else OrderStatus.WAITING_PAYMENT
    assert await harness.status(order) is expected
    assert await harness.credit() == max(sats - PRICE, 0)
