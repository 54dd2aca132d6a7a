"""What is booked of outputs and invoices, in each state of an order.

The story of each is in test_outputs.py and test_settlement.py; here it is compared
whole: entries, keys, and what is kept.
"""

from datetime import timedelta
from functools import partial

import pytest

from leyden.base.rules.units import Sats
from leyden.channels import invoices, outputs
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import (
    Invoice,
    InvoiceState,
    KnownOutput,
    Outpoint,
    Output,
    OutputState,
)
from leyden.channels.services import CLOSING, EXPIRY, ChannelSettings
from leyden.values import replace
from tests.channels.stored_order import (
    CREDIT,
    DIRECT,
    HARBOUR,
    HELD,
    LATER,
    ORDER,
    QUOTE,
    StoredOrder,
    of_the_order,
)

PRICE = QUOTE.total_fee
RULES = ChannelSettings()
OUTPUT = Output(
    outpoint=Outpoint("ab" * 32, 3),
    address=ORDER.onchain_address,
    sats=Sats(PRICE + 100),
    confirmations=1,
)
KNOWN = KnownOutput(
    outpoint=OUTPUT.outpoint,
    order_id=ORDER.id,
    sats=OUTPUT.sats,
    state=OutputState.SEEN,
    first_seen=LATER,
)
KEY = f"chain:{'ab' * 32}:3#1"
BOOKED = replace(KNOWN, state=OutputState.BOOKED, bookings=1, to_order=PRICE)
received = partial(of_the_order, source="received")


async def see(
    stored_order: StoredOrder, *confirmations: int, sats: int = OUTPUT.sats
) -> None:
    for depth in confirmations:
        output = replace(OUTPUT, confirmations=depth, sats=Sats(sats))
        async with stored_order.deciding() as (work, order):
            outputs.record(work, order, output, RULES)


async def stored_outputs(stored_order: StoredOrder) -> list[KnownOutput]:
    return await stored_order.database.reader.outputs.of_order(ORDER.id)


def reversed_(key: str, source: str, sats: int) -> Entry:
    return of_the_order(
        key=f"{KEY}:reversed{key}",
        what=Reason.REVERSED,
        source=source,
        target="received",
        sats=Sats(sats),
    )


async def test_an_output_is_seen_then_booked_then_buried(
    stored_order: StoredOrder,
) -> None:
    await stored_order.have(ORDER, {})
    await see(stored_order, -1)
    await see(stored_order, 1, sats=0)
    assert await stored_outputs(stored_order) == []
    await see(stored_order, 0)
    assert await stored_outputs(stored_order) == [KNOWN]
    async with stored_order.deciding() as (work, order):
        assert outputs.confirming(work, order, {OUTPUT.outpoint}) == OUTPUT.sats
        assert outputs.confirming(work, order, set()) == 0
    await see(stored_order, 1, 1)
    assert await stored_outputs(stored_order) == [BOOKED]
    assert await stored_order.written() == [
        received(key=KEY, what=Reason.PAYMENT, target=HELD, sats=PRICE),
        received(
            key=f"{KEY}:credit", what=Reason.SURPLUS, target=CREDIT, sats=Sats(100)
        ),
    ]
    async with stored_order.deciding() as (work, order):
        assert outputs.confirming(work, order, {OUTPUT.outpoint}) == 0
    await see(stored_order, RULES.buried - 1)
    assert await stored_outputs(stored_order) == [BOOKED]
    await see(stored_order, RULES.buried)
    assert await stored_outputs(stored_order) == [
        replace(BOOKED, state=OutputState.BURIED)
    ]
    await see(stored_order, 1)
    assert await stored_outputs(stored_order) == [
        replace(BOOKED, state=OutputState.BURIED)
    ]
    assert len(await stored_order.written()) == 2


@pytest.mark.parametrize(
    ("order_sats", "sats", "depth"),
    [(0, 999_999, 1), (0, 1_000_000, 2), (1_000_000, 1, 2), (5_000_000, 1_000_000, 3)],
)
def test_the_larger_of_order_and_output_says_how_deep_it_has_to_lie(
    order_sats: int, sats: int, depth: int
) -> None:
    credited = Sats(QUOTE.total_fee - order_sats)
    order = replace(ORDER, credit_used=credited)
    for confirmations in range(5):
        output = replace(OUTPUT, sats=Sats(sats), confirmations=confirmations)
        counts = confirmations >= depth
        state = OutputState.BOOKED if counts else OutputState.SEEN
        assert outputs.next_state(order, KNOWN, output, RULES) is state
        once_booked = outputs.next_state(order, BOOKED, output, RULES)
        assert once_booked is (
            OutputState.BOOKED if confirmations else OutputState.SEEN
        )


async def test_a_single_satoshi_counts(stored_order: StoredOrder) -> None:
    await stored_order.have(ORDER, {})
    await see(stored_order, 1, sats=1)
    assert [each.to_order for each in await stored_outputs(stored_order)] == [1]


async def test_another_story_of_an_output_changes_nothing(
    stored_order: StoredOrder,
) -> None:
    await stored_order.have(ORDER, {})
    await see(stored_order, 0)
    await see(stored_order, 1, sats=OUTPUT.sats + 1)
    assert await stored_outputs(stored_order) == [KNOWN]
    assert await stored_order.written() == []
    assert await stored_order.found() == [("treasury.differs", str(OUTPUT.outpoint))]


@pytest.mark.parametrize(
    ("status", "held", "to_order", "credited", "what"),
    [
        (OrderStatus.WAITING_PAYMENT, 0, PRICE, 100, Reason.SURPLUS),
        (OrderStatus.WAITING_PAYMENT, PRICE - 1, 1, PRICE + 99, Reason.SURPLUS),
        (OrderStatus.WAITING_PAYMENT, PRICE, 0, PRICE + 100, Reason.LATE),
        (OrderStatus.WAITING_PAYMENT, PRICE + 1, 0, PRICE + 100, Reason.LATE),
        (OrderStatus.CREATING, PRICE - 1, 0, PRICE + 100, Reason.LATE),
        (OrderStatus.EXPIRED, 0, 0, PRICE + 100, Reason.LATE),
    ],
)
async def test_an_order_is_given_what_it_lacks(
    stored_order: StoredOrder,
    status: OrderStatus,
    held: int,
    to_order: int,
    credited: int,
    what: Reason,
) -> None:
    await stored_order.have(
        ORDER.with_changes(status=status), {HELD: held} if held else {}
    )
    await see(stored_order, 1)
    assert await stored_outputs(stored_order) == [
        replace(BOOKED, to_order=Sats(to_order))
    ]
    hold = received(key=KEY, what=Reason.PAYMENT, target=HELD, sats=Sats(to_order))
    assert await stored_order.written() == [
        *([hold] if to_order else []),
        received(key=f"{KEY}:credit", what=what, target=CREDIT, sats=Sats(credited)),
    ]


async def test_what_the_chain_takes_back_is_booked_again_under_another_key(
    stored_order: StoredOrder,
) -> None:
    await stored_order.have(ORDER, {})
    await see(stored_order, 1, 0)
    assert await stored_outputs(stored_order) == [
        replace(BOOKED, state=OutputState.SEEN)
    ]
    assert (await stored_order.written())[2:] == [
        reversed_("", HELD, PRICE),
        reversed_(":rest:credit", CREDIT, 100),
    ]
    await see(stored_order, 1)
    assert await stored_outputs(stored_order) == [replace(BOOKED, bookings=2)]
    assert (await stored_order.written())[4].key == KEY.replace("#1", "#2")
    await see(stored_order, -1)
    assert await stored_outputs(stored_order) == [
        replace(BOOKED, bookings=2, state=OutputState.GONE)
    ]
    assert await stored_order.all_due() == {}


async def later(stored_order: StoredOrder, status: OrderStatus) -> None:
    """Book the output, and let the order go on."""
    await stored_order.have(ORDER, {})
    await see(stored_order, 1)
    async with stored_order.deciding() as (work, order):
        work.change(order.with_changes(status=status))


async def test_an_order_whose_payment_is_taken_back_waits_again(
    stored_order: StoredOrder,
) -> None:
    await later(stored_order, OrderStatus.CREATING)
    await see(stored_order, 0)
    assert (await stored_order.order()).status is OrderStatus.WAITING_PAYMENT
    assert await stored_order.all_due() == {EXPIRY: LATER}
    assert (await stored_order.written())[2:] == [
        reversed_("", HELD, PRICE),
        reversed_(":rest:credit", CREDIT, 100),
    ]


async def test_who_has_the_ticket_owes_it_and_gives_the_rest_back(
    stored_order: StoredOrder,
) -> None:
    await later(stored_order, OrderStatus.CREATED)
    await see(stored_order, 0)
    assert (await stored_order.order()).status is OrderStatus.CREATED
    assert (await stored_order.written())[2:] == [
        reversed_(":order:receivable", ledger.receivable(HARBOUR), PRICE),
        reversed_(":rest:credit", CREDIT, 100),
    ]


@pytest.mark.parametrize("status", [OrderStatus.CREATING, OrderStatus.CREATED])
async def test_a_direct_order_that_was_not_asked_for_waits_for_its_payment_again(
    stored_order: StoredOrder, status: OrderStatus
) -> None:
    """Nobody has anything yet, so nobody owes it."""
    await stored_order.have(DIRECT, {})
    await see(stored_order, 1)
    async with stored_order.deciding() as (work, order):
        work.change(order.with_changes(status=status))
    await see(stored_order, 0)
    assert (await stored_order.order()).status is OrderStatus.WAITING_PAYMENT
    assert (await stored_order.written())[2:] == [
        reversed_("", HELD, PRICE),
        reversed_(":rest:credit", CREDIT, 100),
    ]


async def test_a_direct_order_that_was_asked_for_is_owed(
    stored_order: StoredOrder,
) -> None:
    await stored_order.have(DIRECT, {})
    await see(stored_order, 1)
    async with stored_order.deciding() as (work, order):
        work.change(order.with_changes(status=OrderStatus.SUBMITTED))
    await see(stored_order, 0)
    assert (await stored_order.order()).status is OrderStatus.SUBMITTED
    assert (await stored_order.written())[2:] == [
        reversed_(":order:receivable", ledger.receivable(HARBOUR), PRICE),
        reversed_(":rest:credit", CREDIT, 100),
    ]


async def test_what_became_credit_is_taken_from_there_and_then_owed(
    stored_order: StoredOrder,
) -> None:
    await stored_order.have(ORDER.with_changes(status=OrderStatus.EXPIRED), {})
    await see(stored_order, 1)
    async with stored_order.deciding() as (work, _):
        work.post(
            [
                Entry(
                    key="spent",
                    what=Reason.REFUND,
                    source=CREDIT,
                    target="refunded",
                    sats=Sats(PRICE),
                )
            ]
        )
    await see(stored_order, 0)
    assert (await stored_order.written())[1:] == [
        reversed_(":rest:credit", CREDIT, 100),
        reversed_(":rest:receivable", ledger.receivable(HARBOUR), PRICE),
    ]


@pytest.mark.parametrize("more", [PRICE - 1, PRICE])
async def test_what_all_is_held_for_waits_for_no_part_of_it(
    stored_order: StoredOrder, more: int
) -> None:
    await stored_order.have(ORDER, {HELD: 1})
    await see(stored_order, 1)
    async with stored_order.deciding() as (work, order):
        work.change(order.with_changes(status=OrderStatus.CREATING))
        work.post(
            [
                Entry(
                    key="more",
                    what=Reason.CORRECTION,
                    source="promo",
                    target=HELD,
                    sats=Sats(more),
                )
            ]
        )
    await see(stored_order, 0)
    assert (await stored_order.order()).status is OrderStatus.CREATING


async def tell(stored_order: StoredOrder, state: InvoiceState, sats: int = 0) -> Order:
    invoice = Invoice(payment_hash=ORDER.payment_hash, state=state, sats=Sats(sats))
    async with stored_order.deciding() as (work, order):
        invoices.record(work, order, invoice)
    return await stored_order.order()


HELD_ORDER = ORDER.with_changes(
    invoice=InvoiceState.ACCEPTED, htlc_sats=PRICE, paid_at=LATER
)


@pytest.mark.parametrize(
    ("status", "target", "what", "key"),
    [
        (OrderStatus.WAITING_PAYMENT, HELD, Reason.PAYMENT, ""),
        (OrderStatus.CREATING, CREDIT, Reason.LATE, ":credit"),
        (OrderStatus.EXPIRED, CREDIT, Reason.LATE, ":credit"),
    ],
)
async def test_a_settled_invoice_is_booked_once(
    stored_order: StoredOrder, status: OrderStatus, target: str, what: Reason, key: str
) -> None:
    given = ORDER.with_changes(status=status)
    await stored_order.have(given, {})
    for sats in (500, 700):
        assert await tell(
            stored_order, InvoiceState.SETTLED, sats
        ) == given.with_changes(invoice=InvoiceState.SETTLED, htlc_sats=Sats(500))
    assert await stored_order.written() == [
        received(
            key=f"lightning:{ORDER.payment_hash}{key}",
            what=what,
            target=target,
            sats=Sats(500),
        )
    ]


@pytest.mark.parametrize("sats", [PRICE, PRICE + 1])
async def test_a_held_payment_that_is_settled_is_received_as_it_was_held(
    stored_order: StoredOrder, sats: int, logged: pytest.LogCaptureFixture
) -> None:
    given = HELD_ORDER.with_changes(status=OrderStatus.CREATED)
    await stored_order.have(given, {})
    answer = await tell(stored_order, InvoiceState.SETTLED, sats)
    assert answer == given.with_changes(invoice=InvoiceState.SETTLED)
    assert ("a different amount than it held" in logged.text) == (sats != PRICE)
    differs = [("treasury.differs", ORDER.id)]
    assert await stored_order.found() == (differs if sats != PRICE else [])
    assert await stored_order.written() == [
        received(
            key=f"lightning:{ORDER.payment_hash}",
            what=Reason.PAYMENT,
            target="promised",
            sats=PRICE,
        )
    ]


async def test_an_invoice_that_nobody_paid_is_cancelled_and_that_is_all(
    stored_order: StoredOrder, logged: pytest.LogCaptureFixture
) -> None:
    await stored_order.have(ORDER, {})
    assert await tell(stored_order, InvoiceState.OPEN) == ORDER
    assert "does not know" not in logged.text
    assert await tell(stored_order, InvoiceState.MISSING) == ORDER
    assert "does not know" not in logged.text  # it ran out, and lnd may have deleted it
    assert await stored_order.found() == []
    answer = await tell(stored_order, InvoiceState.CANCELLED)
    assert answer == ORDER.with_changes(invoice=InvoiceState.CANCELLED)
    assert await stored_order.written() == []


@pytest.mark.parametrize("invoice", [InvoiceState.OPEN, InvoiceState.ACCEPTED])
async def test_an_invoice_is_an_alarm_when_the_treasury_does_not_know_it(
    stored_order: StoredOrder,
    invoice: InvoiceState,
    logged: pytest.LogCaptureFixture,
) -> None:
    given = HELD_ORDER.with_changes(invoice=invoice, status=OrderStatus.CREATING)
    if invoice is InvoiceState.OPEN:
        given = replace(ORDER, expires=LATER + timedelta(minutes=1))
    await stored_order.have(given, {})
    for _ in range(2):
        assert await tell(stored_order, InvoiceState.MISSING) == given
    assert "the treasury does not know one of our invoices" in logged.text
    assert await stored_order.found() == [("invoice.unknown", ORDER.id)]


async def test_a_settled_invoice_is_not_cancelled(stored_order: StoredOrder) -> None:
    given = ORDER.with_changes(invoice=InvoiceState.SETTLED, htlc_sats=PRICE)
    await stored_order.have(given, {})
    assert await tell(stored_order, InvoiceState.CANCELLED) == given
    assert await stored_order.written() == []


async def test_a_held_payment_that_is_handed_back_ends_its_order(
    stored_order: StoredOrder,
) -> None:
    await stored_order.have(
        HELD_ORDER.with_changes(status=OrderStatus.CREATING), {HELD: PRICE}
    )
    assert await tell(stored_order, InvoiceState.CANCELLED) == HELD_ORDER.with_changes(
        status=OrderStatus.FAILED, invoice=InvoiceState.CANCELLED, paid_at=None
    )
    assert await stored_order.all_due() == {CLOSING: LATER}
    (entry,) = await stored_order.written()
    assert entry.key == f"broke:{ORDER.id}:promised"


async def test_a_held_payment_that_is_handed_back_later_is_held_no_more(
    stored_order: StoredOrder,
) -> None:
    given = HELD_ORDER.with_changes(status=OrderStatus.CREATED)
    await stored_order.have(given, {HELD: PRICE})
    assert await tell(stored_order, InvoiceState.CANCELLED) == given.with_changes(
        invoice=InvoiceState.CANCELLED, htlc_sats=Sats(0)
    )
    assert await stored_order.written() == [
        of_the_order(
            key=f"lightning:{ORDER.payment_hash}:handed_back",
            what=Reason.HANDED_BACK,
            source=HELD,
            target="promised",
            sats=PRICE,
        )
    ]
