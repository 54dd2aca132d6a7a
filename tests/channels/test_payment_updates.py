"""Of what the treasury tells again and again, only what is news is booked."""

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.checkout import record_payment, select_unbooked
from leyden.channels.rules.payments import (
    Invoice,
    InvoiceState,
    Outpoint,
    Output,
    PaymentUpdate,
)
from leyden.values import replace
from tests.channels.orders_harness import OrdersHarness


def invoice(payment_hash: str, state: InvoiceState) -> Invoice:
    return Invoice(payment_hash=payment_hash, state=state, sats=Sats(500))


def output(address: str, depth: int, vout: int = 0) -> Output:
    return Output(
        outpoint=Outpoint("ab" * 32, vout),
        address=address,
        sats=Sats(500),
        confirmations=depth,
    )


async def test_nothing_told_is_no_news(harness: OrdersHarness) -> None:
    assert await select_unbooked(harness.channels, []) == []


async def test_an_invoice_is_news_in_another_state_than_it_was_booked_in(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    opened, accepted, settled = (
        invoice(order.payment_hash, state)
        for state in (InvoiceState.OPEN, InvoiceState.ACCEPTED, InvoiceState.SETTLED)
    )
    strange = invoice("ab" * 32, InvoiceState.SETTLED)
    for answer, news in (
        ([opened], []),
        ([strange], []),
        ([strange, accepted], [accepted]),
        ([opened, accepted], [accepted]),
        ([accepted, opened], [accepted, opened]),  # no news after what came before it
        ([accepted, settled, accepted], [accepted, settled, accepted]),
    ):
        found = await select_unbooked(harness.channels, answer)
        assert found == [(order.id, each) for each in news]


@pytest.mark.parametrize("deep", [1, 6, -1])
async def test_an_output_is_news_if_something_follows_from_it(
    harness: OrdersHarness, deep: int
) -> None:
    order = await harness.create()
    at = order.onchain_address
    observed, another = output(at, 0), output(at, 0, vout=1)
    strange = output("bcrt1qsomebodyelses", 6)
    assert await select_unbooked(harness.channels, [strange, observed]) == [
        (order.id, observed)
    ]
    await record_payment(harness.channels, observed, now=harness.now)
    deeper = replace(observed, confirmations=deep)
    cases: tuple[tuple[list[PaymentUpdate], list[PaymentUpdate]], ...] = (
        ([observed], []),
        ([observed, another], [another]),
        ([deeper], [deeper]),
        ([observed, deeper], [deeper]),
        ([deeper, observed], [deeper, observed]),
        ([deeper, another, another], [deeper, another, another]),
    )
    for answer, news in cases:
        found = await select_unbooked(harness.channels, answer)
        assert found == [(order.id, each) for each in news]


async def test_news_come_in_the_order_in_which_they_were_told(
    harness: OrdersHarness,
) -> None:
    order, other = await harness.create(), await harness.create()
    payment_updates: list[PaymentUpdate] = [
        output(other.onchain_address, 1),
        invoice(order.payment_hash, InvoiceState.ACCEPTED),
        invoice(other.payment_hash, InvoiceState.ACCEPTED),
        output(order.onchain_address, 1, vout=1),
    ]
    assert await select_unbooked(harness.channels, payment_updates) == [
        (other.id, payment_updates[0]),
        (order.id, payment_updates[1]),
        (other.id, payment_updates[2]),
        (order.id, payment_updates[3]),
    ]
