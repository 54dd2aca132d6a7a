"""What a payment does, case by case: nothing lost, nothing booked twice."""

from datetime import timedelta

import pytest

from leyden.domain import ledger
from leyden.domain.orders import Status
from leyden.domain.payments import GONE, Invoice, InvoiceState, Outpoint, Output
from leyden.domain.units import Sats
from leyden.errors import NotAllowed, NotFound
from leyden.payments.fake import PaymentFailed
from leyden.services.channels.checkout import record_payment, record_payments
from leyden.services.channels.shop import CLOSING, ShopSettings
from tests.services.till import LIGHTHOUSE, PRICE, Till, request_of


async def test_paying_more_over_lightning_makes_credit(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order), PRICE + 837)
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    assert await till.credit() == 837


async def test_events_that_come_again_change_nothing(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order), PRICE + 1)
    await till.settle_down()
    for _ in range(3):
        await till.hear_again()
        await till.settle_down()
    assert await till.credit() == 1
    assert await till.place(ledger.RECEIVED) == -PRICE - 1


async def test_lightning_that_slips_through_after_the_end_becomes_credit(
    till: Till,
) -> None:
    order = await till.create()
    await till.cancel(order)
    settled = Invoice(
        payment_hash=order.payment_hash, state=InvoiceState.SETTLED, sats=Sats(PRICE)
    )
    till.payments.invoices[order.payment_hash] = settled
    await till.settle_down()
    await record_payment(till.shop, settled, now=till.now)
    assert await till.credit() == PRICE
    assert await till.status(order) is Status.CANCELLED


async def test_lightning_that_is_held_after_the_end_is_handed_back(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.cancel(order)  # the payment is there, and not heard of yet
    await till.settle_down()
    assert await till.status(order) is Status.CANCELLED
    assert await till.credit() == 0
    assert till.payments.received() == 0


async def test_both_rails_at_once_pay_once(till: Till) -> None:
    """T-blink1295: Lightning is first, the coins become credit."""
    order = await till.create()
    till.payments.pay(request_of(order))
    till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    assert await till.credit() == PRICE
    assert await till.place(ledger.RECEIVED) == -2 * PRICE


async def test_someone_elses_money_is_let_be(till: Till) -> None:
    order = await till.create()
    await record_payment(
        till.shop,
        Invoice(payment_hash="ff" * 32, state=InvoiceState.SETTLED, sats=Sats(99)),
        now=till.now,
    )
    elsewhere = Output(
        outpoint=Outpoint("ee" * 32, 0),
        address="bcrt1qelsewhere",
        sats=Sats(99),
        confirmations=6,
    )
    await record_payment(till.shop, elsewhere, now=till.now)
    assert await till.place(ledger.RECEIVED) == 0
    assert await till.status(order) is Status.WAITING_PAYMENT


async def test_a_treasury_that_takes_too_little_sells_nothing(till: Till) -> None:
    order = await till.create()
    short = Invoice(
        payment_hash=order.payment_hash,
        state=InvoiceState.ACCEPTED,
        sats=Sats(PRICE - 1),
    )
    till.payments.invoices[order.payment_hash] = short
    await record_payment(till.shop, short, now=till.now)
    await till.settle_down()
    assert await till.status(order) is Status.WAITING_PAYMENT
    await till.pass_time(minutes=61)
    assert await till.status(order) is Status.EXPIRED
    assert await till.credit() == 0
    assert till.payments.received() == 0
    # What was held is the payer's again.
    assert till.payments.invoices[order.payment_hash].state is InvoiceState.CANCELLED


async def test_a_treasury_that_holds_nothing_sells_nothing(till: Till) -> None:
    order = await till.create()
    for sats in (0, -5):
        nothing = Invoice(
            payment_hash=order.payment_hash,
            state=InvoiceState.ACCEPTED,
            sats=Sats(sats),
        )
        await record_payment(till.shop, nothing, now=till.now)
    assert await till.status(order) is Status.WAITING_PAYMENT
    assert (await till.get(order)).invoice is InvoiceState.OPEN
    await till.settle_down()
    # Nobody pays into an invoice of which such things are told.
    assert till.payments.invoices[order.payment_hash].state is InvoiceState.CANCELLED


async def test_what_was_told_of_a_closed_invoice_comes_too_late(till: Till) -> None:
    """The chain paid, the invoice was closed, and then the chain took it back."""
    order = await till.create()
    till.market.away = True
    coin = till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    till.payments.reorganise(1, drop=[coin])
    await till.start_sweeping()
    waits = await till.get(order)
    assert (waits.status, waits.invoice) == (
        Status.WAITING_PAYMENT,
        InvoiceState.CANCELLED,
    )
    late = Invoice(
        payment_hash=order.payment_hash, state=InvoiceState.ACCEPTED, sats=Sats(PRICE)
    )
    await record_payment(till.shop, late, now=till.now)
    await till.settle_down()
    assert await till.get(order) == waits
    assert await till.place(ledger.held(order.id)) == 0


async def test_a_payment_that_is_wanted_again_is_not_closed(till: Till) -> None:
    """The chain paid and took it back before anybody came to close the invoice."""
    order = await till.create()
    coin = till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.hear()
    till.payments.reorganise(1, drop=[coin])
    gone = Output(
        outpoint=coin,
        address=order.onchain_address,
        sats=Sats(PRICE),
        confirmations=GONE,
    )
    await record_payment(till.shop, gone, now=till.now)
    assert await till.status(order) is Status.WAITING_PAYMENT
    till.market.away = True
    till.payments.pay(request_of(order))
    await till.settle_down()
    assert await till.status(order) is Status.CREATING
    till.market.away = False
    await till.pass_time(minutes=1)
    assert await till.status(order) is Status.CREATED
    assert till.payments.received() == PRICE


async def test_a_payment_that_was_taken_as_its_invoice_was_closed_is_credit(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    till.deafen()
    await till.cancel(order)
    assert await till.payments.settle(request_of(order))  # by whoever runs the lnd
    till.deafen()
    await till.settle_down()
    assert await till.credit() == PRICE
    assert await till.status(order) is Status.CANCELLED


async def test_a_cancelled_order_cannot_be_paid(till: Till) -> None:
    order = await till.create()
    await till.cancel(order)
    await till.settle_down()
    with pytest.raises(PaymentFailed):
        till.payments.pay(request_of(order))


async def test_someone_elses_order_cannot_be_cancelled(till: Till) -> None:

    order = await till.create()
    with pytest.raises(NotFound):
        await till.cancel(order, who=LIGHTHOUSE)


async def test_an_order_that_is_being_created_cannot_be_cancelled(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    with pytest.raises(NotAllowed, match="is creating cannot be cancelled"):
        await till.cancel(order)


def test_the_rules_have_room_before_any_time_lock() -> None:
    """A held payment's lock is 80 blocks and more: thirteen hours."""
    assert ShopSettings().ticket_patience < timedelta(hours=2)


async def test_what_is_told_twice_in_one_breath_is_booked_once(till: Till) -> None:
    """The stream and a look may tell of it at once, here or in another process."""
    first, second = await till.create(), await till.create()
    for order in (first, second):
        till.payments.pay(request_of(order))
    held = till.payments.invoices[first.payment_hash]
    assert await till.payments.settle(request_of(second))
    settled = till.payments.invoices[second.payment_hash]
    till.deafen()
    await record_payments(till.shop, [held, held, settled, settled], now=till.now)
    due = await till.database.reader.tasks.next_due(CLOSING, now=till.now)
    assert due is None, "what is held is not handed back"
    await till.settle_down()
    for order in (first, second):
        assert await till.status(order) is Status.CREATED
    assert await till.place(ledger.RECEIVED) == -2 * PRICE


async def test_a_payment_that_cannot_be_booked_stops_no_other(till: Till) -> None:
    """Not even when it is told of between two others, with a sum beyond reason."""
    orders = [await till.create() for _ in range(3)]
    told = [
        Invoice(
            payment_hash=each.payment_hash, state=InvoiceState.SETTLED, sats=Sats(sats)
        )
        for each, sats in zip(orders, (PRICE, 2**70, PRICE), strict=True)
    ]
    await record_payments(till.shop, told, now=till.now)
    assert [await till.status(each) for each in orders] == [
        Status.CREATING,
        Status.WAITING_PAYMENT,
        Status.CREATING,
    ]
    assert await till.place(ledger.RECEIVED) == -2 * PRICE
    for order in orders[::2]:
        till.payments.pay(request_of(order))
        till.payments.invoices[order.payment_hash] = told[orders.index(order)]
    till.deafen()


@pytest.mark.parametrize("sats", [PRICE - 1, PRICE, PRICE + 1])
async def test_every_fee_is_inside_what_credit_is_held_against(
    till: Till, sats: int
) -> None:
    """T-lnbits440: one satoshi short of all fees together is short."""
    await till.give_credit(sats)
    order = await till.create()
    await till.settle_down()
    assert order.credit_used == min(sats, PRICE)
    assert order.to_be_paid == max(PRICE - sats, 0)
    covered = sats >= PRICE
    expected = Status.CREATED if covered else Status.WAITING_PAYMENT
    assert await till.status(order) is expected
    assert await till.credit() == max(sats - PRICE, 0)
