"""The opening of a direct channel: what is asked, what is kept, and when again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta

import pytest

from leyden.app.loops import channel_queues
from leyden.base.rules.units import Sats
from leyden.base.tasks.work import Work
from leyden.base.tasks.worker import Worker
from leyden.channels.direct.base import WantedOpening
from leyden.channels.direct.opening import open_channel
from leyden.channels.direct.reservations import HOUR
from leyden.channels.direct.rules.fundings import Funding
from leyden.channels.direct.rules.openings import Coin, Opening, OpeningRefused
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.orders import Order, OrderEvent, OrderStatus, advance
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.services import OPENING
from leyden.channels.unit_of_work import UnitOfWork
from leyden.errors import Lost
from leyden.values import replace
from tests.channels.orders_harness import (
    HARBOUR,
    LIGHTHOUSE,
    OrdersHarness,
    at_once,
    request_of,
)
from tests.channels.test_direct_channels import (
    OTHER,
    PEER,
    PRICE,
    channel,
    invoice_of,
    paid,
)
from tests.fakes.channels import FEE_VBYTES
from tests.fakes.seller import FakeSeller

LEFT = 240 * 50 - FEE_VBYTES * 10
BARELY = timedelta(microseconds=1)


@pytest.fixture
async def direct(harness: OrdersHarness) -> AsyncIterator[OrdersHarness]:
    harness.seller.fill([3_000_000] * 6)
    harness.seller.online |= {PEER, OTHER}
    yield harness
    await harness.prove()


async def coins_of(direct: OrdersHarness, order: Order) -> list[Coin]:
    return await direct.database.reader.reserved_coins.of_order(order.id)


async def again(direct: OrdersHarness) -> datetime | None:
    """When the order is looked at again."""
    return await direct.database.reader.tasks.next_due(OPENING, now=direct.now)


async def at(direct: OrdersHarness, when: datetime) -> None:
    """Look at the orders at that time, and not before."""
    direct.now = when
    await direct.work(OPENING)


async def leases(direct: OrdersHarness, order: Order) -> dict[str, Lease]:
    return await direct.database.reader.leases.of_orders([order.id])


async def test_the_seller_is_asked_for_what_was_ordered(direct: OrdersHarness) -> None:
    order = await direct.create(channel(announce=True))
    coins = await coins_of(direct, order)
    order = await paid(direct, order)
    (opened,) = direct.seller.opened_for(order.id)
    assert opened.wanted == WantedOpening(
        order_id=order.id,
        pubkey=PEER,
        capacity=Sats(1_000_000),
        announce=True,
        coins=tuple(coins),
        fee_sat_per_vb=10,
        zero_conf=False,
    )


async def test_a_published_channel_is_kept_with_what_it_cost(
    direct: OrdersHarness,
) -> None:
    order = await direct.create(channel())
    (coin,) = await coins_of(direct, order)
    order = await paid(direct, order)
    lease = Lease(
        channel_point=order.channel_point,
        premium=Sats(4_999),
        execution_fee=Sats(0),
        chain_fee=Sats(FEE_VBYTES * 10),
        self_chan_balance=Sats(0),
        node=PEER,
        peer=direct.seller.pubkey,
        height=1_000,
    )
    assert await leases(direct, order) == {order.id: lease}
    assert await direct.database.reader.fundings.watched() == [
        Funding(
            order_id=order.id,
            organization_id=HARBOUR,
            channel_point=order.channel_point,
            peer=direct.seller.pubkey,
            coins=(coin.outpoint,),
            since=1_000,
        )
    ]
    assert await again(direct) is None


class Silent(FakeSeller):
    """A seller that cannot tell what its transactions cost."""

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        opened = await super().open(wanted)
        return replace(opened, fee=None) if isinstance(opened, Opening) else opened


async def test_a_fee_that_nobody_knows_is_the_highest(direct: OrdersHarness) -> None:
    """So nothing is given back that was spent."""
    direct.seller, before = Silent(), direct.seller
    direct.seller.coins, direct.seller.online = before.coins, before.online
    order = await paid(direct, await direct.create(channel()))
    assert (await leases(direct, order))[order.id].chain_fee == 240 * 50
    assert await direct.credit() == 0


@pytest.mark.parametrize("more", [0, 9])
async def test_what_was_paid_beyond_the_price_is_credit(
    direct: OrdersHarness, more: int
) -> None:
    order = await direct.create(channel())
    direct.payments.pay(request_of(order), PRICE + more)
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.FILLED
    assert await direct.credit() == LEFT + more


# When it is looked at again.


async def test_a_node_that_is_away_is_dialled_every_two_seconds(
    direct: OrdersHarness,
) -> None:
    direct.seller.online.clear()
    order = await paid(direct, await direct.create(channel()))
    for _ in range(2):
        assert await direct.status(order) is OrderStatus.CREATED
        assert await again(direct) == direct.now + timedelta(seconds=2)
        await at(direct, direct.now + timedelta(seconds=2))


async def test_a_peer_that_does_not_answer_is_looked_at_every_second(
    direct: OrdersHarness,
) -> None:
    direct.seller.freezes = True
    await paid(direct, await direct.create(channel()))
    assert await again(direct) == direct.now + timedelta(seconds=5), "no answer at all"
    await at(direct, direct.now + timedelta(seconds=5))
    for _ in range(2):
        assert await again(direct) == direct.now + timedelta(seconds=1)
        await at(direct, direct.now + timedelta(seconds=1))


async def test_a_seller_that_is_away_is_asked_every_five_seconds(
    direct: OrdersHarness,
) -> None:
    order = await direct.create(channel())
    direct.seller.away = True
    await paid(direct, order)
    assert await again(direct) == direct.now + timedelta(seconds=5)


async def test_fees_above_the_price_are_looked_at_every_half_minute(
    direct: OrdersHarness,
) -> None:
    direct.seller.fee_sat_per_vb = 51
    await paid(direct, await direct.create(channel()))
    assert await again(direct) == direct.now + timedelta(seconds=30)


# How long it is waited for.


async def test_a_payment_is_held_for_a_quarter_of_an_hour_at_most(
    direct: OrdersHarness,
) -> None:
    direct.seller.online.clear()
    order = await paid(direct, await direct.create(channel()))
    last = direct.now + timedelta(minutes=15)
    await at(direct, last - BARELY)
    assert await direct.status(order) is OrderStatus.CREATED
    await at(direct, last + timedelta(seconds=2) - BARELY)
    assert await direct.status(order) is OrderStatus.FAILED


@pytest.mark.parametrize("away", [False, True])
async def test_the_time_is_over_at_the_moment_itself(
    direct: OrdersHarness, *, away: bool
) -> None:
    """Whether the node is away or the seller."""
    direct.seller.online.clear()
    order = await paid(direct, await direct.create(channel()))
    direct.seller.away = away
    await at(direct, direct.now + timedelta(minutes=15))
    assert await direct.status(order) is OrderStatus.FAILED
    assert await again(direct) is None
    direct.seller.away = False


async def test_credit_waits_for_a_day_from_when_it_paid(direct: OrdersHarness) -> None:
    direct.seller.online.clear()
    await direct.give_credit(PRICE)
    order = await direct.create(channel())
    await direct.settle_down()
    await at(direct, direct.now + timedelta(days=1))
    assert await direct.status(order) is OrderStatus.FAILED
    assert await direct.credit() == PRICE


async def test_a_submitted_order_outlasts_a_seller_that_is_away(
    direct: OrdersHarness,
) -> None:
    """Something was asked for: only the seller can tell what became of it."""
    direct.seller.freezes = True
    order = await paid(direct, await direct.create(channel()))
    direct.seller.away = True
    await at(direct, direct.now + timedelta(days=2))
    assert await direct.status(order) is OrderStatus.SUBMITTED
    assert await again(direct) == direct.now + timedelta(seconds=5)
    direct.seller.away = False
    direct.seller.thaw(refuses=False)
    await at(direct, direct.now + timedelta(seconds=5))
    assert await direct.status(order) is OrderStatus.FILLED


# What nobody waited for, and lnd does not show any more, may come all the same.


async def unanswered(direct: OrdersHarness, order: Order) -> Order:
    """Ask for the channel, and lose sight of it."""
    direct.seller.freezes = True
    order = await paid(direct, order)
    assert order.status is OrderStatus.SUBMITTED
    direct.seller.locks_end = True
    return order


async def test_an_opening_that_outlives_its_locks_is_paid_for(
    direct: OrdersHarness,
) -> None:
    """Nor does it come from asking again: what comes of that says nothing of it."""
    order = await unanswered(direct, await direct.create(channel()))
    direct.seller.refuses = "I am opening one with you"
    now = direct.now
    for minutes in (9, 16, 34):
        await at(direct, now + timedelta(minutes=minutes))
        assert await direct.status(order) is OrderStatus.SUBMITTED
        assert await again(direct) == direct.now + timedelta(seconds=1)
    assert invoice_of(direct, order) is InvoiceState.ACCEPTED
    direct.seller.thaw(refuses=False)
    await at(direct, direct.now + timedelta(seconds=1))
    assert await direct.status(order) is OrderStatus.FILLED
    assert invoice_of(direct, order) is InvoiceState.SETTLED


async def test_an_opening_that_never_came_is_given_up_once_it_cannot_come(
    direct: OrdersHarness,
) -> None:
    order = await unanswered(direct, await direct.create(channel()))
    over = direct.now + timedelta(minutes=35)
    await at(direct, over - BARELY)
    assert await direct.status(order) is OrderStatus.SUBMITTED
    await at(direct, over + timedelta(seconds=1))
    assert await direct.status(order) is OrderStatus.FAILED
    await direct.settle_down()
    assert invoice_of(direct, order) is InvoiceState.CANCELLED


async def test_what_lnd_would_show_is_asked_for_again_at_once(
    direct: OrdersHarness,
) -> None:
    order = await unanswered(direct, await direct.create(channel()))
    direct.seller.thaw(refuses=True)
    await at(direct, direct.now + timedelta(minutes=9) - BARELY)
    assert await direct.status(order) is OrderStatus.FILLED


async def test_what_was_paid_otherwise_is_asked_for_anew_once_nothing_can_come(
    direct: OrdersHarness,
) -> None:
    await direct.give_credit(PRICE)
    order = await direct.create(channel())
    direct.seller.freezes = True
    await direct.settle_down()
    direct.seller.locks_end = True
    direct.seller.thaw(refuses=True)
    over = direct.now + timedelta(minutes=35)
    await at(direct, over - BARELY)
    assert await direct.status(order) is OrderStatus.SUBMITTED
    await at(direct, over + timedelta(seconds=1))
    assert await direct.status(order) is OrderStatus.CREATED
    await at(direct, direct.now + timedelta(seconds=2))
    assert await direct.status(order) is OrderStatus.FILLED


class Slow(FakeSeller):
    """A seller that connects to a peer while something else happens, in full."""

    def __init__(self) -> None:
        super().__init__()
        self.happens: Callable[[], Awaitable[None]] | None = None

    async def connect(self, pubkey: str, addresses: Sequence[str]) -> bool:
        if self.happens is not None:
            happens, self.happens = self.happens, None
            await happens()
        return await super().connect(pubkey, addresses)


@pytest.mark.parametrize("credit", [0, PRICE])
async def test_who_lost_the_order_to_another_process_opens_nothing(
    direct: OrdersHarness, credit: int
) -> None:
    """It slept for so long, and the other has returned the payment by now."""
    seller, before = Slow(), direct.seller
    seller.coins, seller.online = before.coins, before.online
    direct.seller = seller
    seller.freezes = True
    if credit:
        await direct.give_credit(credit)
    order = await direct.create(channel())
    if not credit:
        direct.payments.pay(request_of(order))
    await direct.settle_down()
    seller.thaw(refuses=True)

    async def another_gives_up() -> None:
        direct.now += timedelta(seconds=30)
        seller.refuses = "channel rejected"
        await direct.work(OPENING)
        assert await direct.status(order) is OrderStatus.FAILED
        seller.refuses = ""

    seller.happens = another_gives_up
    direct.now += timedelta(seconds=5)
    until = direct.now + timedelta(seconds=30)
    async with direct.database.transaction() as tx:
        (claim,) = await tx.tasks.claim(OPENING, now=direct.now, until=until, limit=1)
    with pytest.raises(Lost):
        await open_channel(direct.channels, Work(direct.database, claim))
    assert seller.opened_for(order.id) == []
    assert await direct.credit() == credit
    if not credit:
        assert invoice_of(direct, order) is InvoiceState.CANCELLED


@pytest.mark.parametrize("is_away", [False, True])
async def test_a_payment_that_may_have_gone_back_opens_nothing(
    direct: OrdersHarness,
    is_away: bool,  # noqa: FBT001
) -> None:
    """The treasury's answer to that was lost, and the peer takes a channel by now."""
    order = await direct.create(channel())
    direct.payments.pay(request_of(order))
    await direct.hear()
    direct.seller.refuses = "channel rejected"
    direct.payments.answers_lost = 1
    await direct.work(OPENING)
    assert await direct.status(order) is OrderStatus.SUBMITTED
    assert invoice_of(direct, order) is InvoiceState.CANCELLED
    direct.deafen()
    direct.seller.refuses = ""
    direct.payments.away = is_away
    await at(direct, direct.now + timedelta(minutes=1))
    assert await direct.status(order) is (
        OrderStatus.SUBMITTED if is_away else OrderStatus.FAILED
    )
    direct.payments.away = False
    await at(direct, direct.now + timedelta(minutes=1))
    assert await direct.status(order) is OrderStatus.FAILED
    assert direct.seller.opened_for(order.id) == []


# The limits, once more: settings may have changed since it was ordered.


class Together(FakeSeller):
    """A seller that reaches two peers at once, or none."""

    def __init__(self) -> None:
        super().__init__()
        self.both = asyncio.Barrier(2)

    async def connect(self, pubkey: str, addresses: Sequence[str]) -> bool:
        async with asyncio.timeout(10):
            await self.both.wait()
        return await super().connect(pubkey, addresses)


@pytest.mark.parametrize(
    ("peers", "limit"), [((PEER, PEER), 9_000_000), ((PEER, OTHER), 1_900_000)]
)
async def test_of_two_orders_that_are_submitted_at_once_one_waits(
    direct: OrdersHarness, peers: tuple[str, str], limit: int
) -> None:
    """For one node, or beyond what an hour may open, whichever process opens it."""
    whose = HARBOUR, LIGHTHOUSE
    orders = [
        await direct.create(channel(peer), who)
        for peer, who in zip(peers, whose, strict=True)
    ]
    for order in orders:
        direct.payments.pay(request_of(order))
    await direct.hear()
    direct.rules = replace(direct.rules, seller_most_per_hour=Sats(limit))
    direct.seller, before = Together(), direct.seller
    direct.seller.coins, direct.seller.online = before.coins, before.online
    direct.seller.freezes = True
    async with direct.database.transaction() as tx:
        claims = await tx.tasks.claim(
            OPENING, now=direct.now, until=direct.now + timedelta(seconds=30), limit=2
        )
    works = [Work(direct.database, claim) for claim in claims]
    await at_once(*(open_channel(direct.channels, work) for work in works))
    states = sorted([await direct.status(order) for order in orders])
    assert states == [OrderStatus.CREATING, OrderStatus.SUBMITTED]


@pytest.mark.parametrize(("limit", "opened"), [(2_000_000, True), (1_999_999, False)])
async def test_no_more_is_opened_in_an_hour_than_may_be(
    direct: OrdersHarness, limit: int, *, opened: bool
) -> None:
    await direct.give_credit(2 * PRICE)
    first, second = await direct.create(channel()), await direct.create(channel(OTHER))
    direct.rules = replace(direct.rules, seller_most_per_hour=Sats(limit))
    await direct.work(OPENING)
    found = {await direct.status(each) for each in (first, second)}
    if opened:
        assert found == {OrderStatus.FILLED}
        return
    assert found == {OrderStatus.FILLED, OrderStatus.CREATING}
    assert await again(direct) == direct.now + timedelta(seconds=2)
    await at(direct, direct.now + HOUR - BARELY)
    assert OrderStatus.CREATING in {
        await direct.status(each) for each in (first, second)
    }
    await at(direct, direct.now + timedelta(seconds=2))
    found = {await direct.status(each) for each in (first, second)}
    assert found == {OrderStatus.FILLED}


# What a program that died had asked for is found, whatever it had stored.


async def unreached(direct: OrdersHarness, order: Order) -> None:
    """Store what the step stores that is told its peer is offline."""
    async with direct.database.transaction() as tx:
        work = await UnitOfWork.load(tx, [order.id], now=direct.now)
        work.move(advance(work.order(order.id), OrderEvent.UNREACHED))
        await work.flush(tx)


async def test_an_opening_that_is_found_under_way_is_submitted(
    direct: OrdersHarness,
) -> None:
    direct.seller.freezes = True
    order = await paid(direct, await direct.create(channel()))
    await unreached(direct, order)
    await at(direct, direct.now + timedelta(seconds=5))
    assert await direct.status(order) is OrderStatus.SUBMITTED
    direct.seller.publishes = False
    direct.seller.thaw(refuses=False)
    await unreached(direct, order)
    await at(direct, direct.now + timedelta(seconds=1))
    (point,) = direct.seller.channels
    found = await direct.get(order)
    assert (found.status, found.channel_point) == (OrderStatus.SUBMITTED, point)
    assert invoice_of(direct, order) is InvoiceState.ACCEPTED


async def test_a_channel_that_is_found_published_is_filled(
    direct: OrdersHarness,
) -> None:
    direct.seller.freezes = True
    order = await paid(direct, await direct.create(channel()))
    direct.seller.thaw(refuses=False)
    await unreached(direct, order)
    await at(direct, direct.now + timedelta(seconds=5))
    assert await direct.status(order) is OrderStatus.FILLED
    assert (await direct.database.reader.moves.of_order(order.id))[-2:] == [
        (OrderStatus.CREATED, OrderStatus.SUBMITTED),
        (OrderStatus.SUBMITTED, OrderStatus.FILLED),
    ]


async def test_a_settled_payment_is_not_credited_before_the_seller_is_asked(
    direct: OrdersHarness,
) -> None:
    """The database was restored, and does not know of the channel that it paid for."""
    order = await direct.create(channel())
    coins = await coins_of(direct, order)
    direct.payments.pay(request_of(order))
    await direct.hear()
    wanted = WantedOpening(
        order_id=order.id,
        pubkey=PEER,
        capacity=order.quote.channel.capacity,
        announce=False,
        coins=tuple(coins),
        fee_sat_per_vb=10,
    )
    assert isinstance(await direct.seller.open(wanted), Opening)
    assert await direct.payments.settle(request_of(order))
    direct.deafen()
    direct.seller.away = True
    await at(direct, direct.now + timedelta(minutes=15))
    assert await direct.status(order) is OrderStatus.CREATING
    direct.seller.away = False
    await at(direct, direct.now + timedelta(seconds=5))
    assert await direct.status(order) is OrderStatus.FILLED
    assert await direct.credit() == LEFT


class Leaving(FakeSeller):
    """A seller whose peers leave as they are asked."""

    async def connect(self, pubkey: str, addresses: Sequence[str]) -> bool:
        connected = await super().connect(pubkey, addresses)
        self.online.discard(pubkey)
        return connected


async def test_a_peer_that_leaves_as_it_is_asked_may_come_again(
    direct: OrdersHarness,
) -> None:
    direct.seller, before = Leaving(), direct.seller
    direct.seller.coins, direct.seller.online = before.coins, before.online
    order = await paid(direct, await direct.create(channel()))
    assert await direct.status(order) is OrderStatus.CREATED
    assert await again(direct) == direct.now + timedelta(seconds=2)
    moves = await direct.database.reader.moves.of_order(order.id)
    assert moves[-1] == (OrderStatus.SUBMITTED, OrderStatus.CREATED)


class Waiting(FakeSeller):
    """A seller whose lnd waits for peers that do not respond."""

    def __init__(self, silent: Sequence[str]) -> None:
        super().__init__()
        self.silent = silent
        self.waiting = 0
        self.over = asyncio.Event()

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        if wanted.pubkey not in self.silent:
            return await super().open(wanted)
        self.waiting += 1
        await self.over.wait()
        return OpeningRefused("the peer did not respond")


async def test_peers_that_do_not_respond_hold_up_no_other_order(
    harness: OrdersHarness,
) -> None:
    """lnd waits ten minutes for each; a held payment waits for fifteen at most."""
    silent = [f"02{number:064x}" for number in range(20)]
    harness.seller = seller = Waiting(silent)
    seller.fill([150_000] * 30)
    seller.online = {PEER, *silent}
    for each in silent:
        await harness.give_credit(PRICE, LIGHTHOUSE)
        await harness.create(channel(each, capacity=100_000), LIGHTHOUSE)
    await harness.give_credit(PRICE)
    worker = Worker(
        harness.database, channel_queues(harness.channels), clock=lambda: harness.now
    )
    working = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(20):
            while seller.waiting < len(silent):
                await asyncio.sleep(0.01)
            order = await harness.create(channel(capacity=100_000))
            while await harness.status(order) is not OrderStatus.FILLED:
                await asyncio.sleep(0.01)
    finally:
        seller.over.set()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
