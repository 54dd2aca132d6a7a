import asyncio
from datetime import timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.rules.accounts import Organization
from leyden.base.rules.units import Sats
from leyden.channels.rows import orders
from leyden.channels.rules.orders import (
    Order,
    OrderChanges,
    OrderEvent,
    OrderStatus,
    advance,
)
from leyden.channels.rules.payments import (
    InvoiceState,
    KnownOutput,
    Outpoint,
    OutputState,
)
from leyden.channels.rules.pricing import AuctionTerms, Channel, NodeTier, Terms, quote
from leyden.errors import NotFound, Stale, Violated
from leyden.values import fields, replace
from tests.conftest import NOW

WISH = Channel(
    capacity=Sats(2_000_000),
    self_chan_balance=Sats(50_000),
    lease_duration_blocks=4032,
    node_tier=NodeTier.ANY,
    bps=80,
)

NODE_KEY = "02" * 33

# A new value of each field that may change.
CHANGED: OrderChanges = {
    "status": OrderStatus.CREATING,
    "credit_refund": Sats(5),
    "paid_at": NOW,
    "invoice": InvoiceState.ACCEPTED,
    "htlc_sats": Sats(123),
    "offered": True,
    "sealed_ticket": b"sealed",
    "ticket_ref": "0123456789abcdef",
    "order_nonce": "aa" * 32,
    "htlc_expires": 800_144,
    "channel_point": f"{'bb' * 32}:1",
}


@pytest.fixture(autouse=True)
async def organizations(db: Database) -> None:
    async with db.transaction() as tx:
        for name in ("harbour", "lighthouse"):
            await tx.accounts.add(Organization(id=name, name=name, created=NOW))


def an_order(number: int = 1, organization: str = "harbour") -> Order:
    return Order(
        id=f"00000000-0000-4000-8000-{number:012d}FO",
        organization_id=organization,
        status=OrderStatus.WAITING_PAYMENT,
        created=NOW + timedelta(minutes=number),
        expires=NOW + timedelta(hours=1),
        quote=quote(WISH, Terms(), AuctionTerms()),
        credit_used=Sats(700),
        onchain_address=f"bcrt1qpier{number}",
        lightning_invoice=f"lnbcrt{number}",
        payment_hash=f"{number:064x}",
        invoice=InvoiceState.OPEN,
    )


async def add(db: Database, order: Order) -> bool:
    async with db.transaction() as tx:
        return await tx.orders.add(order)


async def test_an_order_comes_back_as_it_was_kept(db: Database) -> None:
    assert await add(db, an_order())
    assert await db.reader.orders.get(an_order().id) == an_order()
    assert not await add(db, an_order())
    with pytest.raises(NotFound):
        await db.reader.orders.get("00000000-0000-4000-8000-000000000000FO")


async def test_it_is_found_by_either_rail(db: Database) -> None:
    await add(db, an_order(7))
    reader = db.reader.orders
    hash_ = an_order(7).payment_hash
    assert await reader.invoiced([hash_, "ff" * 32]) == {
        hash_: (an_order(7).id, InvoiceState.OPEN)
    }
    assert await reader.paid_to(["bcrt1qpier7", "bcrt1qelsewhere"]) == {
        "bcrt1qpier7": an_order(7)
    }


async def test_every_field_is_kept(db: Database) -> None:
    channel = replace(
        WISH,
        node_key=NODE_KEY,
        node_host="198.51.100.7:9735",
        node_id="7N",
        announce=True,
        zero_conf=True,
    )
    quote_ = replace(
        an_order().quote, channel=channel, keeps_unused_fee=True, source="https://lsp"
    )
    order = replace(an_order(), **CHANGED, quote=quote_, charged=Sats(9))
    for each in (order, quote_, channel):
        for field in fields(each):
            assert getattr(each, field.name) != field.default, (
                f"{type(each).__name__}.{field.name}: give this test another value "
                "than the default, to show that it is stored"
            )
    await add(db, order)
    assert await db.reader.orders.get(order.id) == order


def test_an_order_is_read_by_the_names_of_its_columns() -> None:
    assert "*" not in "".join(each.sqlite for each in orders.sql)


async def test_all_that_may_change_is_kept(db: Database) -> None:
    assert {*CHANGED} == {*OrderChanges.__annotations__}, (
        "CHANGED needs each of `Changes`"
    )
    await add(db, an_order())
    after = replace(an_order(), **CHANGED)
    async with db.transaction() as tx:
        await tx.orders.save([(an_order(), after)])
        await tx.moves.add([(after.id, an_order().status, after.status)], at=NOW)
    assert await db.reader.orders.get(an_order().id) == after
    assert await db.reader.moves.of_order(an_order().id) == [
        (OrderStatus.WAITING_PAYMENT, OrderStatus.CREATING)
    ]


async def test_one_of_many_moves_it_and_the_rest_look_again(db: Database) -> None:
    await add(db, an_order())

    async def move(event: OrderEvent) -> None:
        async with db.transaction() as tx:
            after = advance(an_order(), event)
            await tx.orders.save([(an_order(), after)])
            await tx.moves.add([(after.id, an_order().status, after.status)], at=NOW)

    events = [OrderEvent.PAID, OrderEvent.LAPSED, OrderEvent.CANCELLED] * 5
    outcomes = await asyncio.gather(*map(move, events), return_exceptions=True)
    assert outcomes.count(None) == 1
    assert sum(isinstance(each, Stale) for each in outcomes) == 14
    assert len(await db.reader.moves.of_order(an_order().id)) == 1


async def test_many_move_or_none_of_them(db: Database) -> None:
    waiting = [an_order(number) for number in range(1, 151)]
    for order in waiting:
        await add(db, order)
    ticketed = [replace(order, ticket_ref=order.id[24:36]) for order in waiting]
    paid = [replace(advance(order, OrderEvent.PAID), paid_at=NOW) for order in ticketed]
    async with db.transaction() as tx:
        await tx.orders.save(list(zip(waiting, ticketed, strict=True)))
        await tx.orders.save([(ticketed[0], paid[0])])
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            await tx.orders.save(list(zip(ticketed, paid, strict=True)))
    assert await db.reader.orders.all_() == [paid[0], *ticketed[1:]]


async def test_one_that_is_locked_is_given_as_it_is_now(db: Database) -> None:
    await add(db, an_order())
    now = replace(an_order(), **CHANGED)
    async with db.transaction() as tx:
        assert await tx.orders.lock_many([an_order().id]) == [an_order()]
        await tx.orders.save([(an_order(), now)])
        assert await tx.orders.lock_many([an_order().id]) == [now]


async def test_one_ticket_belongs_to_one_order(db: Database) -> None:
    for number in (1, 2):
        await add(db, an_order(number))
    with pytest.raises(Violated):
        async with db.transaction() as tx:
            orders = [an_order(number) for number in (1, 2)]
            await tx.orders.save(
                [(order, replace(order, ticket_ref="the same")) for order in orders]
            )


async def test_many_are_locked_and_written_at_once_or_not_at_all(db: Database) -> None:
    for number in range(1, 6):
        await add(db, an_order(number))
    paid = [replace(an_order(n), credit_refund=Sats(n)) for n in range(1, 6)]
    async with db.transaction() as tx:
        locked = await tx.orders.lock_many([order.id for order in paid] + ["none"])
        assert [order.id for order in locked] == [order.id for order in paid]
        await tx.orders.save(list(zip(locked, paid, strict=True)))
    moved = advance(an_order(3), OrderEvent.LAPSED)
    async with db.transaction() as tx:
        await tx.orders.save([(paid[2], moved)])
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            again = [replace(order, credit_refund=Sats(9)) for order in paid]
            await tx.orders.save(list(zip(paid, again, strict=True)))
    assert (await db.reader.orders.get(an_order(1).id)).credit_refund == 1


async def test_the_page_shows_ones_own_newest_first(db: Database) -> None:
    for number in range(1, 6):
        await add(db, an_order(number))
    await add(db, an_order(9, "lighthouse"))
    first = await db.reader.orders.page("harbour", limit=2)
    assert [each.id for each in first] == [an_order(5).id, an_order(4).id]
    last = first[-1]
    rest = await db.reader.orders.page(
        "harbour", before=(last.created, last.id), limit=10
    )
    assert [each.id for each in rest] == [an_order(n).id for n in (3, 2, 1)]


async def test_those_in_a_state_are_found_in_batches(db: Database) -> None:
    for number in range(1, 6):
        await add(db, an_order(number))
    reader = db.reader.orders
    two = await reader.in_status(OrderStatus.WAITING_PAYMENT, limit=2)
    rest = await reader.in_status(OrderStatus.WAITING_PAYMENT, after=two[-1].id)
    assert [each.id for each in [*two, *rest]] == [an_order(n).id for n in range(1, 6)]
    assert await reader.in_status(OrderStatus.FILLED) == []


async def failed(db: Database, number: int, *, days_ago: int, point: str = "") -> str:
    order = replace(an_order(number), status=OrderStatus.FAILED, channel_point=point)
    async with db.transaction() as tx:
        await tx.orders.add(order)
        for days, before, after in (
            (days_ago + 30, OrderStatus.WAITING_PAYMENT, OrderStatus.CREATING),
            (days_ago, OrderStatus.CREATING, OrderStatus.FAILED),
        ):
            moved = [(order.id, before, after)]
            await tx.moves.add(moved, at=NOW - timedelta(days=days))
    return order.id


async def test_a_failed_order_is_found_for_a_while_unless_its_channel_was_signed(
    db: Database,
) -> None:
    older = await failed(db, 1, days_ago=6)
    newer = await failed(db, 2, days_ago=1)
    await failed(db, 3, days_ago=8)
    signed = await failed(db, 4, days_ago=90, point=f"{'bb' * 32}:1")
    since = NOW - timedelta(days=7)
    found = await db.reader.orders.failed(since=since, limit=10)
    assert [each.id for each in found] == [signed, newer, older]
    found = await db.reader.orders.failed(since=since, limit=2)
    assert [each.id for each in found] == [signed, newer]


async def test_overdue_orders_are_found_behind_many_that_wait_for_the_auction(
    db: Database,
) -> None:
    to = replace(an_order().quote, channel=replace(WISH, node_key=NODE_KEY))
    times = {
        6: (OrderStatus.CREATING, NOW - timedelta(minutes=6)),
        7: (OrderStatus.CREATING, NOW),
        8: (OrderStatus.CREATING, None),
        9: (OrderStatus.SUBMITTED, NOW),
    }
    for number in range(1, 6):  # submitted to the auction
        times[number] = OrderStatus.SUBMITTED, NOW - timedelta(days=1)
    for number, (status, paid_at) in times.items():
        await add(db, replace(an_order(number), status=status, paid_at=paid_at))
    request = replace(an_order(10), status=OrderStatus.SUBMITTED, quote=to)
    await add(db, replace(request, paid_at=NOW - timedelta(minutes=7)))
    before = NOW - timedelta(minutes=5)
    found = await db.reader.orders.overdue(before, limit=2)
    assert [each.id for each in found] == [an_order(6).id, request.id]
    assert await db.reader.orders.overdue(NOW - timedelta(days=2), limit=2) == []


async def test_an_output_is_kept_and_changed_once(db: Database) -> None:
    await add(db, an_order())
    known_output = KnownOutput(
        outpoint=Outpoint("ab" * 32, 1),
        order_id=an_order().id,
        sats=Sats(50_000),
        state=OutputState.SEEN,
        first_seen=NOW,
    )
    booked = replace(
        known_output, state=OutputState.BOOKED, bookings=1, to_order=Sats(40_000)
    )
    async with db.transaction() as tx:
        await tx.outputs.add([known_output])
        await tx.outputs.save([(known_output, booked)])
    assert await db.reader.outputs.of_orders([an_order().id]) == [booked]
    assert await db.reader.outputs.of_order(an_order().id) == [booked]
    assert await db.reader.outputs.watched() == [an_order().id]
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            await tx.outputs.save([(known_output, booked)])


async def test_who_locks_an_order_waits_for_whoever_has_it(db: Database) -> None:
    order = an_order()
    assert await add(db, order)
    locked = asyncio.Event()

    async def next_one() -> Order:
        await locked.wait()
        async with db.transaction() as tx:
            (found,) = await tx.orders.lock_many([order.id])
            return found

    waiting = asyncio.create_task(next_one())
    async with db.transaction() as tx:
        await tx.orders.lock_many([order.id])
        locked.set()
        done, _ = await asyncio.wait([waiting], timeout=0.3)
        assert not done
        await tx.orders.save([(order, order.with_changes(htlc_sats=Sats(700)))])
    assert (await waiting).htlc_sats == 700
