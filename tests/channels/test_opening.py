"""The opening of a direct channel: what is asked, what is kept, and when again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta

import pytest

from leyden.app.loops import shop_queues
from leyden.base.rules.units import Sats
from leyden.base.tasks.work import Work
from leyden.base.tasks.worker import Worker
from leyden.channels.direct.base import WantedOpening
from leyden.channels.direct.opening import open_channel
from leyden.channels.direct.reservations import HOUR
from leyden.channels.direct.rules.fundings import Funding
from leyden.channels.direct.rules.openings import Coin, Opening, OpeningRefused
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.orders import Event, Order, Status, advance
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.shop import OPENING
from leyden.channels.unit_of_work import UnitOfWork
from leyden.errors import Lost
from leyden.values import replace
from tests.channels.shop_harness import (
    HARBOUR,
    LIGHTHOUSE,
    ShopHarness,
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
async def shop(harness: ShopHarness) -> AsyncIterator[ShopHarness]:
    harness.seller.fill([3_000_000] * 6)
    harness.seller.online |= {PEER, OTHER}
    yield harness
    await harness.prove()


async def coins_of(shop: ShopHarness, order: Order) -> list[Coin]:
    return await shop.database.reader.reserved_coins.of_order(order.id)


async def again(shop: ShopHarness) -> datetime | None:
    """When the order is looked at again."""
    return await shop.database.reader.tasks.next_due(OPENING, now=shop.now)


async def at(shop: ShopHarness, when: datetime) -> None:
    """Look at the orders at that time, and not before."""
    shop.now = when
    await shop.work(OPENING)


async def leases(shop: ShopHarness, order: Order) -> dict[str, Lease]:
    return await shop.database.reader.leases.of_orders([order.id])


async def test_the_seller_is_asked_for_what_was_ordered(shop: ShopHarness) -> None:
    order = await shop.create(channel(announce=True))
    coins = await coins_of(shop, order)
    order = await paid(shop, order)
    (opened,) = shop.seller.opened_for(order.id)
    assert opened.wanted == WantedOpening(
        order_id=order.id,
        pubkey=PEER,
        capacity=Sats(1_000_000),
        announce=True,
        coins=tuple(coins),
        fee_sat_per_vb=10,
        zero_conf=False,
    )


async def test_a_published_channel_is_kept_with_what_it_cost(shop: ShopHarness) -> None:
    order = await shop.create(channel())
    (coin,) = await coins_of(shop, order)
    order = await paid(shop, order)
    lease = Lease(
        channel_point=order.channel_point,
        premium=Sats(4_999),
        execution_fee=Sats(0),
        chain_fee=Sats(FEE_VBYTES * 10),
        self_chan_balance=Sats(0),
        node=PEER,
        peer=shop.seller.pubkey,
        height=1_000,
    )
    assert await leases(shop, order) == {order.id: lease}
    assert await shop.database.reader.fundings.watched() == [
        Funding(
            order_id=order.id,
            organization_id=HARBOUR,
            channel_point=order.channel_point,
            peer=shop.seller.pubkey,
            coins=(coin.outpoint,),
            since=1_000,
        )
    ]
    assert await again(shop) is None


class Silent(FakeSeller):
    """A seller that cannot tell what its transactions cost."""

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        opened = await super().open(wanted)
        return replace(opened, fee=None) if isinstance(opened, Opening) else opened


async def test_a_fee_that_nobody_knows_is_the_highest(shop: ShopHarness) -> None:
    """So nothing is given back that was spent."""
    shop.seller, before = Silent(), shop.seller
    shop.seller.coins, shop.seller.online = before.coins, before.online
    order = await paid(shop, await shop.create(channel()))
    assert (await leases(shop, order))[order.id].chain_fee == 240 * 50
    assert await shop.credit() == 0


@pytest.mark.parametrize("more", [0, 9])
async def test_what_was_paid_beyond_the_price_is_credit(
    shop: ShopHarness, more: int
) -> None:
    order = await shop.create(channel())
    shop.payments.pay(request_of(order), PRICE + more)
    await shop.settle_down()
    assert await shop.status(order) is Status.FILLED
    assert await shop.credit() == LEFT + more


# When it is looked at again.


async def test_a_node_that_is_away_is_dialled_every_two_seconds(
    shop: ShopHarness,
) -> None:
    shop.seller.online.clear()
    order = await paid(shop, await shop.create(channel()))
    for _ in range(2):
        assert await shop.status(order) is Status.CREATED
        assert await again(shop) == shop.now + timedelta(seconds=2)
        await at(shop, shop.now + timedelta(seconds=2))


async def test_a_peer_that_does_not_answer_is_looked_at_every_second(
    shop: ShopHarness,
) -> None:
    shop.seller.freezes = True
    await paid(shop, await shop.create(channel()))
    assert await again(shop) == shop.now + timedelta(seconds=5), "no answer at all"
    await at(shop, shop.now + timedelta(seconds=5))
    for _ in range(2):
        assert await again(shop) == shop.now + timedelta(seconds=1)
        await at(shop, shop.now + timedelta(seconds=1))


async def test_a_seller_that_is_away_is_asked_every_five_seconds(
    shop: ShopHarness,
) -> None:
    order = await shop.create(channel())
    shop.seller.away = True
    await paid(shop, order)
    assert await again(shop) == shop.now + timedelta(seconds=5)


async def test_fees_above_the_price_are_looked_at_every_half_minute(
    shop: ShopHarness,
) -> None:
    shop.seller.fee_sat_per_vb = 51
    await paid(shop, await shop.create(channel()))
    assert await again(shop) == shop.now + timedelta(seconds=30)


# How long it is waited for.


async def test_a_payment_is_held_for_a_quarter_of_an_hour_at_most(
    shop: ShopHarness,
) -> None:
    shop.seller.online.clear()
    order = await paid(shop, await shop.create(channel()))
    last = shop.now + timedelta(minutes=15)
    await at(shop, last - BARELY)
    assert await shop.status(order) is Status.CREATED
    await at(shop, last + timedelta(seconds=2) - BARELY)
    assert await shop.status(order) is Status.FAILED


@pytest.mark.parametrize("away", [False, True])
async def test_the_time_is_over_at_the_moment_itself(
    shop: ShopHarness, *, away: bool
) -> None:
    """Whether the node is away or the seller."""
    shop.seller.online.clear()
    order = await paid(shop, await shop.create(channel()))
    shop.seller.away = away
    await at(shop, shop.now + timedelta(minutes=15))
    assert await shop.status(order) is Status.FAILED
    assert await again(shop) is None
    shop.seller.away = False


async def test_credit_waits_for_a_day_from_when_it_paid(shop: ShopHarness) -> None:
    shop.seller.online.clear()
    await shop.give_credit(PRICE)
    order = await shop.create(channel())
    await shop.settle_down()
    await at(shop, shop.now + timedelta(days=1))
    assert await shop.status(order) is Status.FAILED
    assert await shop.credit() == PRICE


async def test_a_submitted_order_outlasts_a_seller_that_is_away(
    shop: ShopHarness,
) -> None:
    """Something was asked for: only the seller can tell what became of it."""
    shop.seller.freezes = True
    order = await paid(shop, await shop.create(channel()))
    shop.seller.away = True
    await at(shop, shop.now + timedelta(days=2))
    assert await shop.status(order) is Status.SUBMITTED
    assert await again(shop) == shop.now + timedelta(seconds=5)
    shop.seller.away = False
    shop.seller.thaw(refuses=False)
    await at(shop, shop.now + timedelta(seconds=5))
    assert await shop.status(order) is Status.FILLED


# What nobody waited for, and lnd does not show any more, may come all the same.


async def unanswered(shop: ShopHarness, order: Order) -> Order:
    """Ask for the channel, and lose sight of it."""
    shop.seller.freezes = True
    order = await paid(shop, order)
    assert order.status is Status.SUBMITTED
    shop.seller.locks_end = True
    return order


async def test_an_opening_that_outlives_its_locks_is_paid_for(
    shop: ShopHarness,
) -> None:
    """Nor does it come from asking again: what comes of that says nothing of it."""
    order = await unanswered(shop, await shop.create(channel()))
    shop.seller.refuses = "I am opening one with you"
    asked = shop.now
    for minutes in (9, 16, 34):
        await at(shop, asked + timedelta(minutes=minutes))
        assert await shop.status(order) is Status.SUBMITTED
        assert await again(shop) == shop.now + timedelta(seconds=1)
    assert invoice_of(shop, order) is InvoiceState.ACCEPTED
    shop.seller.thaw(refuses=False)
    await at(shop, shop.now + timedelta(seconds=1))
    assert await shop.status(order) is Status.FILLED
    assert invoice_of(shop, order) is InvoiceState.SETTLED


async def test_an_opening_that_never_came_is_given_up_once_it_cannot_come(
    shop: ShopHarness,
) -> None:
    order = await unanswered(shop, await shop.create(channel()))
    over = shop.now + timedelta(minutes=35)
    await at(shop, over - BARELY)
    assert await shop.status(order) is Status.SUBMITTED
    await at(shop, over + timedelta(seconds=1))
    assert await shop.status(order) is Status.FAILED
    await shop.settle_down()
    assert invoice_of(shop, order) is InvoiceState.CANCELLED


async def test_what_lnd_would_show_is_asked_for_again_at_once(
    shop: ShopHarness,
) -> None:
    order = await unanswered(shop, await shop.create(channel()))
    shop.seller.thaw(refuses=True)
    await at(shop, shop.now + timedelta(minutes=9) - BARELY)
    assert await shop.status(order) is Status.FILLED


async def test_what_was_paid_otherwise_is_asked_for_anew_once_nothing_can_come(
    shop: ShopHarness,
) -> None:
    await shop.give_credit(PRICE)
    order = await shop.create(channel())
    shop.seller.freezes = True
    await shop.settle_down()
    shop.seller.locks_end = True
    shop.seller.thaw(refuses=True)
    over = shop.now + timedelta(minutes=35)
    await at(shop, over - BARELY)
    assert await shop.status(order) is Status.SUBMITTED
    await at(shop, over + timedelta(seconds=1))
    assert await shop.status(order) is Status.CREATED
    await at(shop, shop.now + timedelta(seconds=2))
    assert await shop.status(order) is Status.FILLED


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
    shop: ShopHarness, credit: int
) -> None:
    """It slept for so long, and the other has returned the payment by now."""
    seller, before = Slow(), shop.seller
    seller.coins, seller.online = before.coins, before.online
    shop.seller = seller
    seller.freezes = True
    if credit:
        await shop.give_credit(credit)
    order = await shop.create(channel())
    if not credit:
        shop.payments.pay(request_of(order))
    await shop.settle_down()
    seller.thaw(refuses=True)

    async def another_gives_up() -> None:
        shop.now += timedelta(seconds=30)
        seller.refuses = "channel rejected"
        await shop.work(OPENING)
        assert await shop.status(order) is Status.FAILED
        seller.refuses = ""

    seller.happens = another_gives_up
    shop.now += timedelta(seconds=5)
    until = shop.now + timedelta(seconds=30)
    async with shop.database.transaction() as tx:
        (claim,) = await tx.tasks.claim(OPENING, now=shop.now, until=until, most=1)
    with pytest.raises(Lost):
        await open_channel(shop.shop, Work(shop.database, claim))
    assert seller.opened_for(order.id) == []
    assert await shop.credit() == credit
    if not credit:
        assert invoice_of(shop, order) is InvoiceState.CANCELLED


@pytest.mark.parametrize("is_away", [False, True])
async def test_a_payment_that_may_have_gone_back_opens_nothing(
    shop: ShopHarness,
    is_away: bool,  # noqa: FBT001
) -> None:
    """The treasury's answer to that was lost, and the peer takes a channel by now."""
    order = await shop.create(channel())
    shop.payments.pay(request_of(order))
    await shop.hear()
    shop.seller.refuses = "channel rejected"
    shop.payments.answers_lost = 1
    await shop.work(OPENING)
    assert await shop.status(order) is Status.SUBMITTED
    assert invoice_of(shop, order) is InvoiceState.CANCELLED
    shop.deafen()
    shop.seller.refuses = ""
    shop.payments.away = is_away
    await at(shop, shop.now + timedelta(minutes=1))
    assert await shop.status(order) is (Status.SUBMITTED if is_away else Status.FAILED)
    shop.payments.away = False
    await at(shop, shop.now + timedelta(minutes=1))
    assert await shop.status(order) is Status.FAILED
    assert shop.seller.opened_for(order.id) == []


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
    ("peers", "most"), [((PEER, PEER), 9_000_000), ((PEER, OTHER), 1_900_000)]
)
async def test_of_two_orders_that_are_submitted_at_once_one_waits(
    shop: ShopHarness, peers: tuple[str, str], most: int
) -> None:
    """For one node, or beyond what an hour may open, whichever process opens it."""
    whose = HARBOUR, LIGHTHOUSE
    orders = [
        await shop.create(channel(peer), who)
        for peer, who in zip(peers, whose, strict=True)
    ]
    for order in orders:
        shop.payments.pay(request_of(order))
    await shop.hear()
    shop.rules = replace(shop.rules, seller_most_per_hour=Sats(most))
    shop.seller, before = Together(), shop.seller
    shop.seller.coins, shop.seller.online = before.coins, before.online
    shop.seller.freezes = True
    async with shop.database.transaction() as tx:
        claims = await tx.tasks.claim(
            OPENING, now=shop.now, until=shop.now + timedelta(seconds=30), most=2
        )
    works = [Work(shop.database, claim) for claim in claims]
    await at_once(*(open_channel(shop.shop, work) for work in works))
    states = sorted([await shop.status(order) for order in orders])
    assert states == [Status.CREATING, Status.SUBMITTED]


@pytest.mark.parametrize(("most", "opened"), [(2_000_000, True), (1_999_999, False)])
async def test_no_more_is_opened_in_an_hour_than_may_be(
    shop: ShopHarness, most: int, *, opened: bool
) -> None:
    await shop.give_credit(2 * PRICE)
    first, second = await shop.create(channel()), await shop.create(channel(OTHER))
    shop.rules = replace(shop.rules, seller_most_per_hour=Sats(most))
    await shop.work(OPENING)
    found = {await shop.status(each) for each in (first, second)}
    if opened:
        assert found == {Status.FILLED}
        return
    assert found == {Status.FILLED, Status.CREATING}
    assert await again(shop) == shop.now + timedelta(seconds=2)
    await at(shop, shop.now + HOUR - BARELY)
    assert Status.CREATING in {await shop.status(each) for each in (first, second)}
    await at(shop, shop.now + timedelta(seconds=2))
    found = {await shop.status(each) for each in (first, second)}
    assert found == {Status.FILLED}


# What a program that died had asked for is found, whatever it had stored.


async def unreached(shop: ShopHarness, order: Order) -> None:
    """Store what the step stores that is told its peer is offline."""
    async with shop.database.transaction() as tx:
        work = await UnitOfWork.load(tx, [order.id], now=shop.now)
        work.move(advance(work.order(order.id), Event.UNREACHED))
        await work.flush(tx)


async def test_an_opening_that_is_found_under_way_is_submitted(
    shop: ShopHarness,
) -> None:
    shop.seller.freezes = True
    order = await paid(shop, await shop.create(channel()))
    await unreached(shop, order)
    await at(shop, shop.now + timedelta(seconds=5))
    assert await shop.status(order) is Status.SUBMITTED
    shop.seller.publishes = False
    shop.seller.thaw(refuses=False)
    await unreached(shop, order)
    await at(shop, shop.now + timedelta(seconds=1))
    (point,) = shop.seller.channels
    found = await shop.get(order)
    assert (found.status, found.channel_point) == (Status.SUBMITTED, point)
    assert invoice_of(shop, order) is InvoiceState.ACCEPTED


async def test_a_channel_that_is_found_published_is_filled(shop: ShopHarness) -> None:
    shop.seller.freezes = True
    order = await paid(shop, await shop.create(channel()))
    shop.seller.thaw(refuses=False)
    await unreached(shop, order)
    await at(shop, shop.now + timedelta(seconds=5))
    assert await shop.status(order) is Status.FILLED
    assert (await shop.database.reader.moves.of_order(order.id))[-2:] == [
        (Status.CREATED, Status.SUBMITTED),
        (Status.SUBMITTED, Status.FILLED),
    ]


async def test_a_settled_payment_is_not_credited_before_the_seller_is_asked(
    shop: ShopHarness,
) -> None:
    """The database was restored, and does not know of the channel that it paid for."""
    order = await shop.create(channel())
    coins = await coins_of(shop, order)
    shop.payments.pay(request_of(order))
    await shop.hear()
    wanted = WantedOpening(
        order_id=order.id,
        pubkey=PEER,
        capacity=order.quote.channel.capacity,
        announce=False,
        coins=tuple(coins),
        fee_sat_per_vb=10,
    )
    assert isinstance(await shop.seller.open(wanted), Opening)
    assert await shop.payments.settle(request_of(order))
    shop.deafen()
    shop.seller.away = True
    await at(shop, shop.now + timedelta(minutes=15))
    assert await shop.status(order) is Status.CREATING
    shop.seller.away = False
    await at(shop, shop.now + timedelta(seconds=5))
    assert await shop.status(order) is Status.FILLED
    assert await shop.credit() == LEFT


class Leaving(FakeSeller):
    """A seller whose peers leave as they are asked."""

    async def connect(self, pubkey: str, addresses: Sequence[str]) -> bool:
        connected = await super().connect(pubkey, addresses)
        self.online.discard(pubkey)
        return connected


async def test_a_peer_that_leaves_as_it_is_asked_may_come_again(
    shop: ShopHarness,
) -> None:
    shop.seller, before = Leaving(), shop.seller
    shop.seller.coins, shop.seller.online = before.coins, before.online
    order = await paid(shop, await shop.create(channel()))
    assert await shop.status(order) is Status.CREATED
    assert await again(shop) == shop.now + timedelta(seconds=2)
    moves = await shop.database.reader.moves.of_order(order.id)
    assert moves[-1] == (Status.SUBMITTED, Status.CREATED)


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
    harness: ShopHarness,
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
        harness.database, shop_queues(harness.shop), clock=lambda: harness.now
    )
    working = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(20):
            while seller.waiting < len(silent):
                await asyncio.sleep(0.01)
            order = await harness.create(channel(capacity=100_000))
            while await harness.status(order) is not Status.FILLED:
                await asyncio.sleep(0.01)
    finally:
        seller.over.set()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
