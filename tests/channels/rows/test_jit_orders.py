"""Rows of just-in-time orders: a stale order changes nothing, and what limits count."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from leyden.base.database.database import Database
from leyden.base.database.statements import Statement
from leyden.base.rules.units import Sats
from leyden.base.tasks.work import Work
from leyden.channels.direct.jit.steps import Steps
from leyden.channels.direct.rows.jit_orders import JitOrders
from leyden.channels.direct.rules.jit import (
    JIT_MOVES,
    CircuitKey,
    JitEvent,
    JitOrder,
    JitPart,
    JitStatus,
    Payment,
    scid_from,
)
from leyden.channels.direct.rules.openings import Coin, Opening, OpeningState
from leyden.channels.rules.payments import Outpoint
from leyden.channels.services import JIT
from leyden.errors import Stale
from leyden.values import replace
from tests.base.due_tasks import claim_due
from tests.channels.orders_harness import OrdersHarness
from tests.conftest import NOW

PEER, OTHER = "02aa", "02bb"
POINT = f"{'ab' * 32}:0"
COIN = Coin(sats=Sats(300_000), outpoint=Outpoint("cd" * 32, 1))
ORDER = JitOrder(
    id=scid_from(7),
    purse="02cc",
    peer=PEER,
    status=JitStatus.SOLD,
    created=NOW,
    valid_until=NOW + timedelta(hours=2),
    size_msat=100_000_000,
    fee_msat=3_400_000,
    capacity=Sats(201_000),
    held_at=NOW,
    resumed_at=NOW,
)
PART = JitPart(
    circuit=CircuitKey("1000", "0"),
    payment_hash="ef" * 32,
    amount_msat=100_000_000,
    take_msat=3_400_000,
)
FEES = {PART.circuit: PART.take_msat}
OPENING = Opening(
    state=OpeningState.PUBLISHED, channel_point=POINT, fee=Sats(1_540), height=9
)
PAYMENT = Payment(payment_hash="ef" * 32, amount_msat=1, since=NOW, height=7)

Change = Callable[[Steps, JitOrder], Awaitable[None]]


async def _ignoring(result: Awaitable[object]) -> None:
    await result


CHANGES: dict[JitStatus, dict[str, Change]] = {
    JitStatus.SOLD: {
        "hold": lambda steps, order: steps.hold(order, PAYMENT),
        "lapse": lambda steps, order: steps.lapse([order]),
    },
    JitStatus.HOLDING: {
        "return": lambda steps, order: steps.turn_back(order, JitEvent.RETURNED),
        "open": lambda steps, order: steps.open(order, replace(order, coins=(COIN,))),
    },
    JitStatus.OPENING: {
        "refuse": lambda steps, order: steps.turn_back(order, JitEvent.REFUSED),
        "drop": lambda steps, order: steps.drop_payment(order),
        "store": lambda steps, order: _ignoring(steps.store(order, "00")),
        "sign": lambda steps, order: steps.sign(order, OPENING),
    },
    JitStatus.OPENED: {
        "resume": lambda steps, order: steps.resume(order, [PART]),
    },
    JitStatus.RESUMING: {
        "earn": lambda steps, order: steps.earn(order, [PART], FEES),
    },
    JitStatus.UNPAID: {
        "cost": lambda steps, order: steps.book_funding(order, Sats(1_540)),
        "give up": lambda steps, order: steps.turn_back(order, JitEvent.GIVEN_UP),
    },
    JitStatus.RETRACTING: {
        "retract": lambda steps, order: steps.retract(order),
    },
}


@pytest.fixture
async def steps(harness: OrdersHarness) -> Steps:
    async with harness.database.transaction() as tx:
        await tx.tasks.put(JIT, "all", due=NOW)
    (claim,) = await claim_due(
        harness.database, JIT, now=NOW, claim_for=timedelta(minutes=1)
    )
    return Steps(harness.channels, Work(harness.database, claim))


async def everything(db: Database) -> Any:
    """Return all that a change of an order may change."""
    orders = await db.reader.jit_orders.in_states(list(JitStatus))
    parts = [await db.reader.jit_orders.parts(each.id) for each in orders]
    return orders, parts, await db.reader.ledger.sums()


@pytest.mark.parametrize(
    ("was", "name"), [(was, name) for was, names in CHANGES.items() for name in names]
)
async def test_a_stale_order_is_refused_and_nothing_is_booked(
    harness: OrdersHarness, steps: Steps, was: JitStatus, name: str
) -> None:
    """Whoever looked before somebody else moved it changes nothing."""
    stale = replace(ORDER, status=was)
    moved = next(
        status
        for (before, event), status in JIT_MOVES.items()
        if before is was and event is not JitEvent.REFUSED
    )
    async with harness.database.transaction() as tx:
        await tx.jit_orders.add(replace(stale, status=moved))
    before = await everything(harness.database)
    with pytest.raises(Stale, match="moved meanwhile"):
        await CHANGES[was][name](steps, stale)
    assert await everything(harness.database) == before
    async with harness.database.transaction() as tx:  # for it never was in order
        await tx.run(Statement("DELETE FROM jit_order"))


async def test_a_channel_id_is_sold_once(db: Database) -> None:
    async with db.transaction() as tx:
        assert await tx.jit_orders.add(ORDER)
        assert not await tx.jit_orders.add(replace(ORDER, peer=OTHER))
    found = await db.reader.jit_orders.find(ORDER.id)
    assert found == ORDER


async def stored(db: Database, *orders: JitOrder) -> JitOrders:
    async with db.transaction() as tx:
        for number, order in enumerate(orders):
            assert await tx.jit_orders.add(replace(order, id=scid_from(number)))
    return db.reader.jit_orders


def in_all(peer: str = PEER) -> list[JitOrder]:
    fee = ORDER.fee_msat
    return [
        replace(
            ORDER,
            status=each,
            peer=peer,
            earned_msat=fee if each is JitStatus.EARNED else 0,
        )
        for each in JitStatus
    ]


# Its node claimed only some parts of the payment.
PARTLY = replace(ORDER, status=JitStatus.EARNED, earned_msat=ORDER.fee_msat - 1)


async def test_unpaid_orders_of_a_node_are_its_own(db: Database) -> None:
    orders = await stored(db, *in_all(), *in_all(OTHER)[:2])
    one = ORDER.purse
    assert await orders.sold_to(PEER, purse=one) == 4  # sold, holding, opening, opened
    assert await orders.sold_to(OTHER, purse=one) == await orders.sold(one) == 2
    assert await orders.sold_to(PEER, purse=OTHER) == await orders.sold(OTHER) == 0


async def test_channels_under_way_to_a_node_are_its_own(db: Database) -> None:
    orders = await stored(db, *in_all(), *in_all(OTHER)[:3])
    one = ORDER.purse
    # opening, opened, resuming, retracting
    assert await orders.under_way_to(PEER, purse=one) == 4
    assert await orders.under_way_to(OTHER, purse=one) == 1
    assert await orders.under_way_to(PEER, purse=OTHER) == 0


async def test_channels_that_a_node_did_not_pay_for_count_for_a_week(
    db: Database,
) -> None:
    orders = await stored(db, *in_all(), PARTLY, replace(in_all(OTHER)[0]))
    assert await orders.unpaid_by(PEER, since=NOW - timedelta(seconds=1)) == 2
    assert await orders.unpaid_by(PEER, since=NOW) == 0
    assert await orders.unpaid_by(OTHER, since=NOW - timedelta(seconds=1)) == 0
    found = [(each.status, each.earned_msat) for each in await orders.unpaid()]
    assert found == [
        (JitStatus.UNPAID, 0),
        (JitStatus.EARNED, PARTLY.earned_msat),
    ]


async def test_what_nobody_took_is_unpaid_or_kept_for_a_while(db: Database) -> None:
    orders = await stored(db, *in_all(), PARTLY)
    since, later = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)
    assert await orders.nobody_took(since=since, before=since) == 2 * ORDER.capacity
    assert await orders.nobody_took(since=since, before=NOW) == 3 * ORDER.capacity
    assert await orders.nobody_took(since=NOW, before=later) == 0


async def test_channels_of_an_hour_are_those_that_may_be_there(db: Database) -> None:
    orders = await stored(db, *in_all())
    since = NOW - timedelta(seconds=1)
    assert await orders.opened_since(since) == 6 * ORDER.capacity
    assert await orders.opened_since(NOW) == 0


async def test_coins_are_reserved_as_long_as_there_may_be_a_channel(
    db: Database,
) -> None:
    coins = [
        replace(COIN, outpoint=Outpoint("cd" * 32, number))
        for number in range(len(JitStatus))
    ]
    orders = await stored(
        db,
        *(
            replace(order, coins=(coin,))
            for order, coin in zip(in_all(), coins, strict=True)
        ),
    )
    found = {
        each
        for each, coin in zip(JitStatus, coins, strict=True)
        if coin.outpoint in await orders.reserved()
    }
    assert found == set(JitStatus) - {
        JitStatus.SOLD,
        JitStatus.HOLDING,
        JitStatus.EXPIRED,
    }


async def test_nodes_that_paid_are_those_with_an_earned_order(db: Database) -> None:
    orders = await stored(db, *in_all(), PARTLY, *in_all(OTHER)[:3])
    assert await orders.earned_from(PEER) == 1
    assert await orders.earned_from(OTHER) == 0


async def test_parts_of_a_given_up_channel_are_deleted(db: Database) -> None:
    order = replace(ORDER, trusts=True, transaction="00ff", status=JitStatus.RETRACTING)
    async with db.transaction() as tx:
        await tx.jit_orders.add(order)
        await tx.jit_orders.add_parts(order.id, [PART])
    assert await db.reader.jit_orders.find(order.id) == order
    async with db.transaction() as tx:
        await tx.jit_orders.drop_parts(order.id)
    assert await db.reader.jit_orders.parts(order.id) == []


async def test_only_sold_orders_lapse_and_only_lapsed_ones_are_deleted(
    db: Database,
) -> None:
    orders = await stored(db, *in_all())
    end = ORDER.valid_until
    early = end - timedelta(seconds=1)
    assert await orders.lapsed(now=early, limit=9) == []
    assert [each.status for each in await orders.lapsed(now=end, limit=9)] == ["sold"]
    async with db.transaction() as tx:
        assert await tx.jit_orders.prune(before=early, limit=9) == 0
        assert await tx.jit_orders.prune(before=end, limit=9) == 1
    left = {each.status for each in await orders.in_states(list(JitStatus))}
    assert left == set(JitStatus) - {JitStatus.EXPIRED}


async def test_unresolved_are_those_whose_end_or_cost_is_not_known(
    db: Database,
) -> None:
    known = [replace(each, funding_fee=Sats(7)) for each in in_all()]
    orders = await stored(db, *known)
    earlier = NOW - timedelta(seconds=1)

    async def found(since: Any) -> set[JitStatus]:
        return {each.status for each in await orders.unresolved(since=since)}

    under_way = {
        JitStatus.HOLDING,
        JitStatus.OPENING,
        JitStatus.OPENED,
        JitStatus.RESUMING,
        JitStatus.RETRACTING,
    }
    assert await found(NOW) == under_way
    assert await found(earlier) == under_way | {JitStatus.UNPAID}
    async with db.transaction() as tx:
        for each in await orders.in_states([JitStatus.EARNED]):
            await tx.jit_orders.save(each, replace(each, funding_fee=None))
    assert await found(NOW) == under_way | {JitStatus.EARNED}


async def test_a_part_earns_once_stored_and_only_its_own(db: Database) -> None:
    await stored(db, ORDER, replace(ORDER, peer=OTHER))
    first, second = scid_from(0), scid_from(1)
    others = [
        replace(PART, circuit=CircuitKey("1000", "1")),
        replace(PART, circuit=CircuitKey("1001", "0")),
    ]
    async with db.transaction() as tx:
        for each in (first, second):
            await tx.jit_orders.add_parts(each, [PART, *others])
        await tx.jit_orders.earn(first, FEES)
    found = [await db.reader.jit_orders.parts(each) for each in (first, second)]
    earned = [[each.earned_msat for each in parts] for parts in found]
    assert earned == [[PART.take_msat, None, None], [None] * 3]
