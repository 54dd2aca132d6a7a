"""Weeks of a shop in seconds: time is a number, and whatever goes wrong is drawn.

One seed gives one life: what customers, payers, miners and sellers do, when treasury or
market are away or lose an answer, what is told twice or never, and when the program
dies. In the end everything heals; then each satoshi is where it belongs. The seed of a
life is printed, and LEYDEN_SEED lives it again.
"""

import os
import random
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace  # noqa: TID251
from datetime import timedelta
from pathlib import Path

import pytest

from leyden import values
from leyden.base.database.database import open_database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.units import Sats
from leyden.channels.books.verify import verify
from leyden.channels.direct import seller_watch
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import ENDED, TICKETED, Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.rules.pricing import Channel, ChannelKind
from leyden.errors import Away, Refused
from tests.channels.direct_model import GIVEN_UP, LOCK_LEFT
from tests.channels.failing_database import FailingDatabase, Fuse, failing
from tests.channels.orders_harness import (
    HARBOUR,
    LIGHTHOUSE,
    PRICE,
    Crashed,
    OrdersHarness,
    request_of,
)
from tests.conftest import NOW
from tests.events.stored_events import stored_events
from tests.fakes.payments import FakePayments, PaymentFailed
from tests.reaper import in_memory

_CHANCE = random.SystemRandom()
_PROVEN_EVERY = 20
_BURIED = 60  # confirmations; some more come before anybody looks
_PEERS = [f"02{number:064x}" for number in range(4)]


class Life:
    """One shop and everyone around it, from a seed."""

    def __init__(self, harness: OrdersHarness, seed: int) -> None:
        self.harness = harness
        self.dice = random.Random(seed)  # noqa: S311  no secret
        self.orders: list[Order] = []
        self.happenings: dict[Callable[[], Awaitable[None]], int] = {
            self.create: 8,
            self.create_direct: 5,
            self.redeem: 2,
            self.pay: 8,
            self.send: 6,
            self.mine: 6,
            self.reorganise: 2,
            self.replace: 1,
            self.register: 4,
            self.match: 3,
            self.cancel: 3,
            self.let_time_pass: 6,
            self.price_otherwise: 1,
            self.peers_come_and_go: 4,
            self.locks_end: 3,
            self.close_a_channel: 2,
            self.follow_fundings: 4,
            self.lose_a_channel: 1,
            self.come_and_go: 3,
            self.lose_answers: 3,
            self.miss_the_news: 2,
            self.tell_it_again: 2,
        }

    async def live(self, steps: int) -> None:
        for step in range(1, steps + 1):
            (happens,) = self.dice.choices(
                list(self.happenings), list(self.happenings.values())
            )
            if self.dice.random() < 0.15:
                await self.die_while(happens)
            else:
                await self.happen(happens)
            if step % _PROVEN_EVERY == 0:
                found = await verify(self.harness.database)
                assert [str(each) for each in found] == []

    async def happen(self, happens: Callable[[], Awaitable[None]]) -> None:
        with suppress(Refused, Away, PaymentFailed):
            await happens()
        await self.harness.settle_down()

    async def die_while(self, happens: Callable[[], Awaitable[None]]) -> None:
        """Let the program die at one of its next durable steps, and start it anew."""
        alive = self.harness
        fuse = Fuse(steps=self.dice.randint(1, 8), after=self.dice.random() < 0.5)
        self.harness = replace(
            alive,
            database=FailingDatabase(alive.database, fuse),
            payments=failing(alive.payments, fuse, "request", "settle", "cancel"),
            market=failing(alive.market, fuse, "offer", "withdraw"),
            seller=failing(alive.seller, fuse, "open", "connect", "bump"),
        )
        with suppress(Crashed):
            await self.happen(happens)
        alive.now = self.harness.now + timedelta(minutes=1)  # its leases have run out
        self.harness = alive
        alive.deafen()
        await alive.start_sweeping()

    # What people do.

    async def create(self) -> None:
        capacity = 100_000 * self.dice.randint(1, 60)
        share = self.dice.choice([0, 0, 0, 5_000])
        channel = Channel(capacity=Sats(capacity), self_chan_balance=Sats(share))
        who = self.dice.choice([HARBOUR, LIGHTHOUSE])
        self.orders.append(await self.harness.create(channel, who, self.new_id()))

    async def create_direct(self) -> None:
        peer = self.dice.choice(_PEERS)
        capacity = Sats(100_000 * self.dice.randint(1, 30))
        channel = Channel(capacity=capacity, node_key=peer)
        who = self.dice.choice([HARBOUR, LIGHTHOUSE])
        self.orders.append(await self.harness.create(channel, who, self.new_id()))

    def new_id(self) -> str:
        return f"5b0c3d1e-7a44-4c39-9a0e-{self.dice.randrange(10**12):012d}FO"

    async def redeem(self) -> None:
        who = self.dice.choice([HARBOUR, LIGHTHOUSE])
        await self.harness.give_credit(self.dice.choice([1, 700, PRICE, 50_000]), who)

    async def pay(self) -> None:
        if order := self.any_payable():
            percent = self.dice.choice([100, 100, 100, 101, 200])
            request = request_of(order)
            self.harness.payments.pay(request, request.sats * percent // 100)

    async def send(self) -> None:
        if order := self.any_payable():
            percent = self.dice.choice([100, 100, 30, 70, 130])
            sats = max(1, order.to_be_paid * percent // 100)
            self.harness.payments.send(order.onchain_address, sats)

    async def cancel(self) -> None:
        if self.orders:
            order = self.dice.choice(self.orders)
            await self.harness.cancel(order, order.organization_id)

    async def register(self) -> None:
        if ticket := await self.any_ticket(OrderStatus.CREATED):
            self.harness.market.register(ticket)
            await self.harness.follow_tickets()

    async def match(self) -> None:
        if ticket := await self.any_ticket(OrderStatus.SUBMITTED):
            left = self.dice.choice([0, 1, 700])
            self.harness.market.match(ticket, unused=left)
            await self.harness.follow_tickets()

    def any_payable(self) -> Order | None:
        payable = [each for each in self.orders if each.payment_hash]
        return self.dice.choice(payable[-6:]) if payable else None

    async def any_ticket(self, status: OrderStatus) -> str:
        standing = await self.harness.database.reader.orders.in_status(status)
        return await self.harness.ticket(self.dice.choice(standing)) if standing else ""

    # What the chain and the clock do.

    async def mine(self) -> None:
        self.harness.payments.mine(self.dice.randint(1, 4))

    async def reorganise(self) -> None:
        payments = self.harness.payments
        mined = [each for each in payments.outputs() if each.confirmations]
        depth = self.dice.randint(1, 4)
        if all(each.confirmations < 100 for each in mined):
            undone = [each.outpoint for each in mined if each.confirmations <= depth]
            dropped = self.dice.sample(
                undone, self.dice.randint(0, min(1, len(undone)))
            )
            payments.mine(depth)
            payments.reorganise(2 * depth, drop=dropped)
            payments.mine(self.dice.randint(1, 2))

    async def replace(self) -> None:
        waiting = [e for e in self.harness.payments.outputs() if not e.confirmations]
        if waiting:
            sats = self.dice.choice([1, 20_000])
            self.harness.payments.replace(self.dice.choice(waiting).outpoint, sats=sats)

    async def let_time_pass(self) -> None:
        await self.harness.pass_time(minutes=self.dice.choice([1, 5, 20, 61, 1_500]))

    async def price_otherwise(self) -> None:
        """The operator keeps what the auction leaves of new orders, or does not."""
        keeps = self.dice.random() < 0.5
        rules = self.harness.rules
        terms = values.replace(rules.terms, keeps_unused_fee=keeps)
        self.harness.rules = values.replace(rules, terms=terms)

    # What goes wrong.

    async def come_and_go(self) -> None:
        self.harness.payments.away = self.dice.random() < 0.3
        self.harness.market.away = self.dice.random() < 0.3
        self.harness.market.refuses = self.dice.choice(["", "", "", "closed"])

    async def peers_come_and_go(self) -> None:
        """Peers leave, refuse, freeze; what was signed is published, or not yet."""
        seller, dice = self.harness.seller, self.dice
        seller.online = {each for each in _PEERS if dice.random() < 0.6}
        seller.refuses = dice.choice(["", "", "channel rejected"])
        seller.publishes = dice.random() < 0.7
        seller.fee_sat_per_vb = dice.choice([1, 10, 50, 51])
        seller.away = dice.random() < 0.2
        seller.height += dice.choice([0, 0, 1, 6])
        if dice.random() < 0.5:
            seller.thaw(refuses=dice.random() < 0.5)
        seller.freezes = dice.random() < 0.2
        if dice.random() < 0.3:
            seller.publish()
        if dice.random() < 0.3:
            seller.fill([dice.randint(100_000, 4_000_000)])

    async def locks_end(self) -> None:
        """Blocks are found; lnd lets go of payments whose lock is nearly over."""
        payments, seller = self.harness.payments, self.harness.seller
        seller.height += self.dice.choice([1, 6, 30])
        for request in list(payments.requests.values()):
            left = payments.invoices[request.payment_hash].expires - seller.height
            if left <= GIVEN_UP:
                payments.time_out(request)
        left = self.dice.choice([LOCK_LEFT - 1, LOCK_LEFT + 5, 2_000])
        payments.lock = seller.height - payments.height + left

    async def close_a_channel(self) -> None:
        seller = self.harness.seller
        ended = {each.point for each in seller.ended}
        opened = [
            point
            for point, each in seller.channels.items()
            if each.published and not each.rival and point not in ended
        ]
        if opened:
            seller.close_channel(self.dice.choice(opened))
        await seller_watch.check(self.harness.channels)

    async def follow_fundings(self) -> None:
        """Blocks are found, with or without what waits; some are undone."""
        seller, dice = self.harness.seller, self.dice
        seller.mined_from = dice.choice([0, 20, 1_000])
        seller.bumpable = dice.random() < 0.8
        for _ in range(dice.randint(1, 3)):
            seller.height += dice.choice([1, 6, 12])
            await seller_watch.check(self.harness.channels)
        if (opened := self._published()) and dice.random() < 0.3:
            seller.reorganise(dice.choice(opened))

    async def lose_a_channel(self) -> None:
        seller = self.harness.seller
        if opened := self._published():
            seller.take_coin(self.dice.choice(opened))
            seller.proves = self.dice.random() < 0.8
        await seller_watch.check(self.harness.channels)

    def _published(self) -> list[str]:
        """Return channels that the chain may still change."""
        seller = self.harness.seller
        ended = {each.point for each in seller.ended}
        return [
            point
            for point, each in seller.channels.items()
            if each.published
            and not each.rival
            and point not in ended
            and (not each.block or seller.height - each.block < _BURIED)
        ]

    async def lose_answers(self) -> None:
        self.harness.seller.answers_lost = self.dice.randint(0, 2)
        self.harness.payments.answers_lost = self.dice.randint(0, 2)
        self.harness.market.answers_lost = self.dice.randint(0, 2)

    async def miss_the_news(self) -> None:
        self.harness.deafen()

    async def tell_it_again(self) -> None:
        await self.harness.hear_again()

    # How it ends.

    async def heal(self) -> None:
        payments, market = self.harness.payments, self.harness.market
        seller = self.harness.seller
        payments.away = market.away = seller.away = False
        seller.answers_lost = 0
        seller.refuses, seller.publishes, seller.fee_sat_per_vb = "", True, 10
        seller.thaw(refuses=self.dice.random() < 0.5)
        seller.publish()
        payments.answers_lost = market.answers_lost = 0
        market.refuses = ""
        payments.mine(6)
        await self.harness.start_sweeping()
        # As the worker does: a ticket whose cancelling had no answer is found here.
        await self.harness.follow_tickets()
        for days in (0, 1, 4, 1):
            await self.harness.pass_time(days=days, minutes=6)
        await seller_watch.check(self.harness.channels)
        seller.mined_from, seller.bumpable, seller.proves = 0, True, True
        for _ in range(2):
            seller.height += 6
            await seller_watch.check(self.harness.channels)

    async def check(self) -> None:
        """Nothing is held that nobody waits for, and our books are the treasury's."""
        await self.harness.prove()
        payments, database = self.harness.payments, self.harness.database
        assert -await self.harness.balance_of(ledger.RECEIVED) == payments.received()
        assert await self.harness.balance_of(ledger.HELD_HTLCS) == 0
        assert InvoiceState.ACCEPTED not in {
            each.state for each in payments.invoices.values()
        }
        found = await database.reader.orders.all_(limit=10_000)
        assert {each.id for each in self.orders} <= {each.id for each in found}
        waiting = {OrderStatus.WAITING_PAYMENT, OrderStatus.CREATING}
        assert waiting & {each.status for each in found} == set()
        assert {
            ref
            for ref, state in self.harness.market.tickets().items()
            if state != "cancelled"
        } == {
            each.ticket_ref
            for each in found
            if each.status in TICKETED and each.kind is ChannelKind.TICKET
        }
        await self.check_channels(found)

    async def check_channels(self, found: list[Order]) -> None:
        """A channel for each filled order, told if closed; no coin is reserved.

        Any other order has none, unless its payment went back while it was signed (its
        buyer may cancel it once it has failed), or another transaction has its coin.
        """
        seller, database = self.harness.seller, self.harness.database
        direct = [each for each in found if each.kind is ChannelKind.DIRECT]
        for each in direct:
            opened = [one.point for one in seller.opened_for(each.id)]
            if each.status is OrderStatus.FILLED or opened:
                assert opened == [each.channel_point], each
            lost = any(seller.channels[point].rival for point in opened)
            assert not lost or each.status is not OrderStatus.FILLED, each
            moves = await database.reader.moves.of_order(each.id)
            stands = {OrderStatus.FILLED, OrderStatus.FAILED} & {
                after for _, after in moves
            }
            assert lost or stands or not opened, each
        assert {each.status for each in direct} <= ENDED
        assert await database.reader.reserved_coins.all_() == set()
        ended = {each.point for each in seller.ended}
        for who in (HARBOUR, LIGHTHOUSE):
            closed = [
                each.id
                for each in direct
                if each.organization_id == who
                and each.status is OrderStatus.FILLED
                and each.channel_point in ended
            ]
            events = await stored_events(database, who)
            early = [
                data["order_id"]
                for kind, data in events
                if kind == "channel.closed_early"
            ]
            assert sorted(early) == sorted(closed)


async def _live(seed: int, steps: int, template: Path, sealer: Sealer) -> timedelta:
    # In memory: what is tested here is not the disk.
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        shutil.copy(template, f"{folder}/leyden.db")
        database = await open_database(f"sqlite:///{folder}/leyden.db")
        try:
            harness = OrdersHarness(
                database=database, sealer=sealer, payments=FakePayments()
            )
            await harness.open()
            harness.seller.fill([4_000_000] * 6)
            life = Life(harness, seed)
            await life.live(steps)
            await life.heal()
            await life.check()
            return harness.now - NOW
        finally:
            await database.close()


async def _lives(count: int, steps: int, template: Path, sealer: Sealer) -> None:
    given = os.environ.get("LEYDEN_SEED")
    lived = timedelta(0)
    for _ in range(1 if given else count):
        seed = int(given) if given else _CHANCE.randrange(2**32)
        print(f"LEYDEN_SEED={seed}", flush=True)  # noqa: T201  the last one failed
        lived += await _live(seed, steps, template, sealer)
    print(f"{lived.days} days without a broken rule")  # noqa: T201


@pytest.mark.timeout(300)
async def test_a_few_lives_end_with_the_books_right(
    sqlite_template: Path, sealer: Sealer
) -> None:
    await _lives(8, 100, sqlite_template, sealer)


@pytest.mark.long
@pytest.mark.timeout(7200)
async def test_many_long_lives_end_with_the_books_right(
    sqlite_template: Path, sealer: Sealer
) -> None:
    await _lives(500, 300, sqlite_template, sealer)
