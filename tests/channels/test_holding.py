"""What is booked for an order, entry by entry, and what is to be done after it."""

import asyncio
from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import partial

import pytest

from leyden.base.rules.units import Sats
from leyden.channels import holding
from leyden.channels.direct.rules.openings import Coin
from leyden.channels.rules import ledger
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import OrderEvent, OrderStatus
from leyden.channels.rules.payments import (
    InvoiceState,
    KnownOutput,
    Outpoint,
    OutputState,
)
from leyden.channels.services import CLOSING, EXPIRY, WITHDRAWAL
from leyden.channels.unit_of_work import UnitOfWork, retry_while_stale
from leyden.errors import NotFound, Stale
from leyden.values import replace
from tests.channels.stored_order import (
    CREDIT,
    DIRECT,
    HARBOUR,
    HELD,
    LATER,
    ORDER,
    StoredOrder,
    an_order,
    of_the_order,
)
from tests.conftest import NOW
from tests.events.stored_events import stored_types
from tests.lock_waits import until_stuck


async def test_money_is_held_for_its_order(stored_order: StoredOrder) -> None:
    await stored_order.have(ORDER, {})
    async with stored_order.deciding() as (work, order):
        put = partial(holding.hold, work, order, source="received", what=Reason.PAYMENT)
        put(0, key="nothing")
        put(1, key="one")
        assert (work.holds(order), work.balance("received")) == (1, -1)
        put(20, key="twenty")
        assert (work.holds(order), work.balance("received")) == (21, -21)
        assert work.surplus(order) == 21 - order.total_fee
    entry = partial(of_the_order, what=Reason.PAYMENT, source="received", target=HELD)
    assert await stored_order.written() == [
        entry(key="one", sats=Sats(1)),
        entry(key="twenty", sats=Sats(20)),
    ]


async def test_credit_repays_what_is_owed_first(stored_order: StoredOrder) -> None:
    await stored_order.have(ORDER, {ledger.receivable(HARBOUR): -30})
    async with stored_order.deciding() as (work, order):
        give = partial(holding.credit, work, order, source="received", what=Reason.LATE)
        give(0, key="nothing")
        give(100, key="k")
        assert work.outstanding(HARBOUR) == 0
        assert work.balance(CREDIT) == 70
        give(1, key="one")
    entry = partial(of_the_order, what=Reason.LATE, source="received")
    assert await stored_order.written() == [
        entry(key="k:receivable", target=ledger.receivable(HARBOUR), sats=Sats(30)),
        entry(key="k:credit", target=CREDIT, sats=Sats(70)),
        entry(key="one:credit", target=CREDIT, sats=Sats(1)),
    ]


async def test_a_settled_payment_is_received_and_promised_no_more(
    stored_order: StoredOrder,
) -> None:
    given = ORDER.with_changes(invoice=InvoiceState.ACCEPTED, htlc_sats=Sats(500))
    await stored_order.have(given, {})
    async with stored_order.deciding() as (work, order):
        settled = holding.settle(work, order)
        assert settled == given.with_changes(invoice=InvoiceState.SETTLED)
        assert work.order(ORDER.id) == settled
    assert await stored_order.order() == settled
    assert await stored_order.written() == [
        of_the_order(
            key=f"lightning:{ORDER.payment_hash}",
            what=Reason.PAYMENT,
            source="received",
            target="promised",
            sats=Sats(500),
        )
    ]
    assert await stored_order.database.reader.moves.of_order(ORDER.id) == []


async def test_a_payment_that_is_handed_back_is_held_no_more(
    stored_order: StoredOrder,
) -> None:
    """Its order goes on, with what else it holds."""
    given = ORDER.with_changes(
        status=OrderStatus.SUBMITTED, invoice=InvoiceState.ACCEPTED, htlc_sats=Sats(500)
    )
    await stored_order.have(given, {HELD: 700})
    async with stored_order.deciding() as (work, order):
        after = holding.hand_back(work, order)
        assert work.holds(order) == 200
        assert work.order(ORDER.id) == after
    expected = given.with_changes(invoice=InvoiceState.CANCELLED, htlc_sats=Sats(0))
    assert await stored_order.order() == after == expected
    assert await stored_order.written() == [
        of_the_order(
            key=f"lightning:{ORDER.payment_hash}:handed_back",
            what=Reason.HANDED_BACK,
            source=HELD,
            target="promised",
            sats=Sats(500),
        )
    ]
    assert await stored_order.database.reader.moves.of_order(ORDER.id) == []


async def test_an_order_that_ends_gives_back_all_of_it(
    stored_order: StoredOrder,
) -> None:
    """To its payer, to the bill, to what is owed, and to credit."""
    given = ORDER.with_changes(
        status=OrderStatus.CREATED,
        invoice=InvoiceState.ACCEPTED,
        htlc_sats=Sats(10),
        paid_at=NOW,
        credit_refund=Sats(5),
        offered=True,
    )
    charged = replace(given, charged=Sats(20))
    owing = {ledger.owed(HARBOUR): -20, ledger.receivable(HARBOUR): -30}
    await stored_order.have(charged, {HELD: 100, **owing})
    async with stored_order.deciding() as (work, order):
        ended = holding.end(work, order, OrderEvent.CANCELLED)
        assert work.holds(order) == work.owes(HARBOUR) == work.outstanding(HARBOUR) == 0
    assert (
        await stored_order.order()
        == ended
        == charged.with_changes(
            status=OrderStatus.CANCELLED,
            credit_refund=Sats(45),
            paid_at=None,
            invoice=InvoiceState.CANCELLED,
        )
    )
    key = f"cancelled:{ORDER.id}"
    entry = partial(of_the_order, source=HELD, what=Reason.RELEASED)
    assert await stored_order.written() == [
        of_the_order(
            key=f"{key}:promised",
            what=Reason.HANDED_BACK,
            source=HELD,
            target="promised",
            sats=Sats(10),
        ),
        entry(key=f"{key}:owed", target=ledger.owed(HARBOUR), sats=Sats(20)),
        entry(
            key=f"{key}:receivable", target=ledger.receivable(HARBOUR), sats=Sats(30)
        ),
        entry(key=f"{key}:credit", target=CREDIT, sats=Sats(40)),
    ]
    assert await stored_order.all_due() == {CLOSING: LATER, WITHDRAWAL: LATER}
    moves = await stored_order.database.reader.moves.of_order(ORDER.id)
    assert moves == [(OrderStatus.CREATED, OrderStatus.CANCELLED)]


@pytest.mark.parametrize(
    ("lacks", "paid_at"), [(0, NOW), (1, None)], ids=["paid another way", "returned"]
)
async def test_an_order_whose_payment_was_returned_was_never_paid(
    stored_order: StoredOrder, lacks: int, paid_at: datetime | None
) -> None:
    given = ORDER.with_changes(
        status=OrderStatus.CREATED, invoice=InvoiceState.CANCELLED, paid_at=NOW
    )
    await stored_order.have(given, {HELD: given.total_fee - lacks})
    async with stored_order.deciding() as (work, order):
        assert holding.end(work, order, OrderEvent.CANCELLED).paid_at == paid_at


@pytest.mark.parametrize(
    ("invoice", "offered", "due"),
    [
        (InvoiceState.OPEN, False, {CLOSING: LATER}),
        (InvoiceState.SETTLED, False, {}),
        (InvoiceState.SETTLED, True, {WITHDRAWAL: LATER}),
        (None, False, {}),
    ],
)
async def test_what_there_is_to_close_is_closed(
    stored_order: StoredOrder,
    invoice: InvoiceState | None,
    offered: bool,  # noqa: FBT001
    due: dict[str, datetime],
) -> None:
    """What was paid was paid, and stays so."""
    given = ORDER.with_changes(
        status=OrderStatus.FAILED, invoice=invoice, paid_at=NOW, offered=offered
    )
    await stored_order.have(given, {})
    async with stored_order.deciding() as (work, order):
        holding.end(work, order, OrderEvent.CANCELLED)
    assert await stored_order.order() == given.with_changes(
        status=OrderStatus.CANCELLED
    )
    assert await stored_order.written() == []
    assert await stored_order.all_due() == due


@pytest.mark.parametrize(
    ("expires", "due"), [(LATER + timedelta(1), LATER + timedelta(1)), (NOW, LATER)]
)
async def test_an_order_is_waited_for_again_until_it_expires(
    stored_order: StoredOrder, expires: datetime, due: datetime
) -> None:
    paid = ORDER.with_changes(status=OrderStatus.CREATING, paid_at=NOW)
    given = replace(paid, expires=expires)
    await stored_order.have(given, {})
    async with stored_order.deciding() as (work, order):
        holding.reopen(work, order)
    again = given.with_changes(status=OrderStatus.WAITING_PAYMENT, paid_at=None)
    assert await stored_order.order() == again
    assert await stored_order.all_due() == {EXPIRY: due}
    moves = await stored_order.database.reader.moves.of_order(ORDER.id)
    assert moves == [(OrderStatus.CREATING, OrderStatus.WAITING_PAYMENT)]


def test_an_entry_may_have_a_note() -> None:
    make = partial(
        holding.entry,
        ORDER,
        7,
        source="promo",
        target=HELD,
        what=Reason.CORRECTION,
        key="k",
    )
    same = partial(
        of_the_order,
        key="k",
        what=Reason.CORRECTION,
        source="promo",
        target=HELD,
        sats=Sats(7),
    )
    assert make() == same()
    assert make(note="for the storm") == same(note="for the storm")


async def test_an_order_may_change_and_move_more_than_once(
    stored_order: StoredOrder,
) -> None:
    """It is compared with what it was when it was loaded."""
    await stored_order.have(ORDER, {})
    async with stored_order.deciding() as (work, order):
        offered = work.change(order.with_changes(offered=True))
        creating = work.move(offered.with_changes(status=OrderStatus.CREATING))
        failed = work.move(creating.with_changes(status=OrderStatus.FAILED))
        with pytest.raises(NotFound):
            work.order("5b0cFO")
    assert await stored_order.order() == failed
    assert await stored_order.database.reader.moves.of_order(ORDER.id) == [
        (OrderStatus.WAITING_PAYMENT, OrderStatus.CREATING),
        (OrderStatus.CREATING, OrderStatus.FAILED),
    ]


async def test_outputs_are_kept_as_they_are_in_the_end(
    stored_order: StoredOrder,
) -> None:
    await stored_order.have(ORDER, {})
    known = KnownOutput(
        outpoint=Outpoint("ab" * 32, 0),
        order_id=ORDER.id,
        sats=Sats(500),
        state=OutputState.SEEN,
        first_seen=NOW,
    )
    states = (OutputState.SEEN, OutputState.BOOKED, OutputState.BURIED)
    stored = [
        replace(known, state=state, bookings=number)
        for number, state in enumerate(states)
    ]
    for steps in (stored[:2], stored[1:]):
        async with stored_order.deciding() as (work, order):
            for each in steps:
                assert work.keep(each) == each
            assert work.output(known.outpoint) == steps[-1]
            assert work.output(Outpoint("cd" * 32, 0)) is None
            assert work.outputs_of(order) == [steps[-1]]
            assert work.outputs_of(an_order(2)) == []
        outputs = await stored_order.database.reader.outputs.of_order(ORDER.id)
        assert outputs == [steps[-1]]
    async with stored_order.database.transaction() as tx:
        work = await UnitOfWork.load(tx, [ORDER.id], now=LATER)
        assert work.output(known.outpoint) is None, "nobody asked for outputs"


async def test_a_lease_is_kept_with_its_order(stored_order: StoredOrder) -> None:
    await stored_order.have(ORDER, {})
    lease = Lease(
        channel_point=f"{'ab' * 32}:0",
        premium=Sats(1),
        execution_fee=Sats(2),
        chain_fee=Sats(3),
        self_chan_balance=Sats(4),
        node="02" + "cd" * 32,
        peer="03" + "ef" * 32,
        height=850_000,
    )
    async with stored_order.deciding() as (work, _):
        work.keep_lease(ORDER.id, lease)
    found = await stored_order.database.reader.leases.of_orders([ORDER.id])
    assert found == {ORDER.id: lease}


@pytest.mark.parametrize(("stale", "tries"), [(0, 1), (7, 8), (99, 8)])
async def test_a_step_is_tried_eight_times(stale: int, tries: int) -> None:
    tried = 0

    async def step() -> None:
        nonlocal tried
        tried += 1
        if tried <= stale:
            raise Stale

    with pytest.raises(Stale) if stale > tries else nullcontext():
        await retry_while_stale(step)
    assert tried == tries


@pytest.mark.parametrize(
    ("after", "freed"),
    [
        (OrderStatus.CREATING, False),
        (OrderStatus.SUBMITTED, False),
        (OrderStatus.FILLED, True),
        (OrderStatus.FAILED, True),
        (OrderStatus.CANCELLED, True),
    ],
)
async def test_the_coins_of_a_direct_order_are_free_once_it_has_ended(
    stored_order: StoredOrder, after: OrderStatus, *, freed: bool
) -> None:
    """Those of another order stay reserved."""
    await stored_order.have(DIRECT, {})
    coin, others = (
        Coin(sats=Sats(3_000_000), outpoint=Outpoint("ab" * 32, vout))
        for vout in (0, 1)
    )
    async with stored_order.database.transaction() as tx:
        other = replace(an_order(2), quote=DIRECT.quote)
        await tx.orders.add(other)
        assert await tx.reserved_coins.add(DIRECT.id, [coin])
        assert await tx.reserved_coins.add(other.id, [others])
    async with stored_order.deciding() as (work, order):
        work.move(order.with_changes(status=after))
    reserved = await stored_order.database.reader.reserved_coins.all_()
    assert reserved == {others.outpoint} | (set() if freed else {coin.outpoint})


async def test_what_moved_and_what_was_credited_is_told(
    stored_order: StoredOrder,
) -> None:
    await stored_order.have(ORDER, {})
    async with stored_order.deciding() as (work, order):
        holding.credit(work, order, 21, source="promo", what=Reason.COUPON, key="k")
        work.move(order.with_changes(status=OrderStatus.CREATING))
        work.move(order.with_changes(status=OrderStatus.CREATED))
    assert await stored_types(stored_order.database, HARBOUR) == [
        "credit.changed",
        "order.paid",
        "order.ticket_ready",
    ]


async def test_an_order_that_gives_back_has_its_organization_locked(
    stored_order: StoredOrder,
) -> None:
    """What it owes is as it was seen until what repays it is written."""
    owed, owes_back = ledger.owed(HARBOUR), ledger.receivable(HARBOUR)
    await stored_order.have(ORDER, {CREDIT: 70, owed: -20, owes_back: -30})
    database, locked = stored_order.database, asyncio.Event()

    async def somebody_else() -> None:
        await locked.wait()
        async with database.transaction() as tx:
            await tx.accounts.lock(HARBOUR)

    waits = asyncio.create_task(somebody_else())
    async with database.transaction() as tx:
        work = await UnitOfWork.load(tx, [ORDER.id], now=LATER, lock_organizations=True)
        locked.set()
        await until_stuck(database, waits)
        assert not waits.done()
        assert work.balance(CREDIT) == 70
        assert (work.owes(HARBOUR), work.outstanding(HARBOUR)) == (20, 30)
    await waits
