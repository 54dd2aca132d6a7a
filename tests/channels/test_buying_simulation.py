"""Lives of a platform that buys channels: whatever goes wrong is drawn.

One seed gives one life: what customers order and how they pay, what the LSP asks, says
and opens, when it or lnd is away or loses an answer, and when the program dies. In the
end everything heals; then no order is open, what was paid is booked once, and whoever
got no channel has the money back. LEYDEN_SEED lives a life again.
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
from leyden.channels.direct.base import Lsps
from leyden.channels.direct.rules.purchases import LspPurchaseStatus, LspState
from leyden.channels.direct.rules.wrapped import PaidState
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import ENDED, Order, OrderStatus
from leyden.channels.rules.pricing import Channel
from leyden.channels.rules.sources import Source
from leyden.channels.services import BuyingSettings
from leyden.errors import Away, Refused
from tests.channels.failing_database import FailingDatabase, Fuse, failing
from tests.channels.orders_harness import (
    HARBOUR,
    LIGHTHOUSE,
    Crashed,
    OrdersHarness,
    request_of,
)
from tests.channels.test_buying import URL
from tests.fakes.lsp import FakeLsp, FakePayer, SoldChannel
from tests.fakes.payments import FakePayments, PaymentFailed
from tests.reaper import in_memory

_CHANCE = random.SystemRandom()
_PEERS = [f"02{number:064x}" for number in range(4)]
_LOSABLE = ("pay", "payment")


class Life:
    """One platform, its LSP and the lnd that pays, from a seed."""

    def __init__(self, harness: OrdersHarness, seed: int) -> None:
        self.harness, self.alive = harness, harness
        self.dice = random.Random(seed)  # noqa: S311  no secret
        self.lsp = FakeLsp(clock=lambda: self.alive.now)
        self.payer = FakePayer(self.lsp)
        self.alive.lsps = Lsps((URL,), lambda _url: self.lsp)
        self.alive.payer = self.payer
        self.orders: list[Order] = []
        self.happenings: dict[Callable[[], Awaitable[None]], int] = {
            self.create: 12,
            self.pay: 12,
            self.send: 2,
            self.cancel: 2,
            self.decide: 3,
            self.resolve: 5,
            self.say: 1,
            self.go_away: 3,
            self.lose: 4,
            self.mine: 6,
            self.let_time_pass: 12,
        }

    async def live(self, steps: int) -> None:
        for step in range(steps):
            (happens,) = self.dice.choices(
                list(self.happenings), list(self.happenings.values())
            )
            if self.dice.random() < 0.3:
                await self.die_while(happens)
            else:
                await self.happen(happens)
            if step % 20 == 0:
                found = await verify(self.alive.database)
                assert [str(each) for each in found] == []

    async def happen(self, happens: Callable[[], Awaitable[None]]) -> None:
        with suppress(Refused, Away, PaymentFailed):
            await happens()
        await self.harness.settle_down()

    async def die_while(self, happens: Callable[[], Awaitable[None]]) -> None:
        """Let the program die at one of its next durable steps, and start it anew."""
        fuse = Fuse(steps=self.dice.randint(1, 8), after=self.dice.random() < 0.5)
        alive = self.alive
        self.harness = replace(
            alive,
            database=FailingDatabase(alive.database, fuse),
            payments=failing(alive.payments, fuse, "request", "settle", "cancel"),
            payer=failing(self.payer, fuse, "pay"),
        )
        with suppress(Crashed):
            await self.happen(happens)
        alive.now = self.harness.now + timedelta(minutes=1)  # its claims have run out
        self.harness = alive
        alive.deafen()
        await alive.start_sweeping()

    # What customers do.

    async def create(self) -> None:
        who = self.dice.choice([HARBOUR, LIGHTHOUSE])
        if self.dice.random() < 0.3:
            await self.harness.give_credit(10_000, who)
        capacity = Sats(100_000 * self.dice.randint(1, 30))
        channel = Channel(capacity=capacity, node_key=self.dice.choice(_PEERS))
        id_ = f"5b0c3d1e-7a44-4c39-9a0e-{self.dice.randrange(10**12):012d}FO"
        self.orders.append(await self.harness.create(channel, who, id_))

    async def pay(self) -> None:
        if payable := [each for each in self.orders[-6:] if each.payment_hash]:
            self.harness.payments.pay(request_of(self.dice.choice(payable)))

    async def send(self) -> None:
        if payable := [each for each in self.orders[-6:] if each.payment_hash]:
            order = self.dice.choice(payable)
            self.harness.payments.send(order.onchain_address, order.to_be_paid)
            self.harness.payments.mine(2)

    async def cancel(self) -> None:
        if self.orders:
            order = self.dice.choice(self.orders)
            await self.harness.cancel(order, order.organization_id)

    # What the LSP and lnd do.

    async def decide(self) -> None:
        lsp, dice = self.lsp, self.dice
        lsp.price = dice.choice([*[5_000] * 6, 5_400, 5_600, 10**9])
        lsp.refuses = dice.choice([*[""] * 7, "not connected"])
        lsp.answers = dice.random() < 0.6
        lsp.claims = dice.random() < 0.8
        lsp.opens = dice.random() < 0.8
        lsp.too_small_by = dice.choice([0, 0, 0, 1])
        lsp.lives = timedelta(minutes=dice.choice([1, 10, 60, 60, 60]))
        lsp.asks_msat = dice.choice([*[0] * 9, 1])
        self.payer.no_route = dice.random() < 0.1
        self.payer.refuses = dice.random() < 0.1
        self.payer.routing_msat = dice.choice([0, 1, 1_000, 9_999])

    def held(self) -> list[SoldChannel]:
        return [
            each
            for each in self.lsp.sold.values()
            if (paid := self.payer.paid.get(each.invoice.payment_hash)) is not None
            and paid.state is PaidState.IN_FLIGHT
        ]

    async def resolve(self) -> None:
        if held := self.held():
            self.payer.resolve(self.dice.choice(held))

    async def say(self) -> None:
        """Say anything of an order; what it opened stays in the chain."""
        if self.lsp.sold:
            sold = self.dice.choice(list(self.lsp.sold.values()))
            self.lsp.say(sold, self.dice.choice(list(LspState)))

    async def go_away(self) -> None:
        self.lsp.away = self.dice.random() < 0.2
        self.payer.away = self.dice.random() < 0.2

    async def lose(self) -> None:
        self.payer.loses = self.dice.choice(_LOSABLE)

    async def mine(self) -> None:
        self.payer.mine(self.dice.randint(1, 3))

    async def let_time_pass(self) -> None:
        minutes = self.dice.choice([0.02, 0.1, 1, 5, 20, 61, 1_500])
        await self.harness.pass_time(minutes=minutes)

    # The end.

    async def heal(self) -> None:
        self.lsp.away = self.payer.away = False
        self.payer.loses = ""
        self.lsp.answers = True
        self.lsp.asks_msat = 0
        self.alive.payments.mine()  # lnd tells coins anew: at each block and each start
        for _ in range(60):
            for each in self.held():
                self.payer.resolve(each)
            self.payer.mine(12)
            await self.alive.pass_time(hours=2)
        await self.alive.start_sweeping()

    async def check(self) -> None:
        harness = self.alive
        await harness.prove()
        orders = await harness.database.reader.orders.all_()
        assert all(each.status in ENDED for each in orders)
        purchases = await harness.database.reader.purchases.of_orders(
            [each.id for each in orders]
        )
        paid = {
            key: each
            for key, each in self.payer.paid.items()
            if each.state is PaidState.SUCCEEDED
        }
        spent = {
            each.payment_hash: each
            for each in purchases.values()
            if each.status in {LspPurchaseStatus.DELIVERED, LspPurchaseStatus.LOST}
        }
        assert set(paid) == set(spent), "what was paid is known, and nothing else"
        cost = sum(-(-each.msat // 1_000) for each in paid.values())
        assert await harness.balance_of(ledger.LSPS) == cost
        assert cost == sum(each.cost for each in spent.values())
        lost = sum(
            each.cost
            for each in spent.values()
            if each.status is LspPurchaseStatus.LOST
        )
        unpaid = await harness.balance_of(ledger.CORRECTIONS)
        assert await harness.balance_of(ledger.PURCHASES) == -lost
        assert unpaid <= 0
        for order in orders:
            purchase = purchases[order.id]
            delivered = purchase.status is LspPurchaseStatus.DELIVERED
            assert (order.status is OrderStatus.FILLED) is delivered
            if delivered:
                sold = self.lsp.sold[purchase.lsp_order]
                assert str(sold.order.channel) == order.channel_point
                assert sold.channel == order.quote.channel
        requests = self.payer.sent
        assert len(requests) == len(set(requests)), "no invoice is paid twice"


async def _live(seed: int, steps: int, template: Path, sealer: Sealer) -> None:
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        shutil.copy(template, f"{folder}/leyden.db")
        database = await open_database(f"sqlite:///{folder}/leyden.db")
        try:
            harness = OrdersHarness(
                database=database, sealer=sealer, payments=FakePayments()
            )
            harness.rules = values.replace(
                harness.rules,
                sources=(Source.LSPS1,),
                buying=BuyingSettings(most_per_hour=Sats(60_000)),
            )
            await harness.open()
            life = Life(harness, seed)
            await life.live(steps)
            await life.heal()
            await life.check()
        finally:
            await database.close()


async def _lives(count: int, steps: int, template: Path, sealer: Sealer) -> None:
    given = os.environ.get("LEYDEN_SEED")
    for _ in range(1 if given else count):
        seed = int(given) if given else _CHANCE.randrange(2**32)
        print(f"LEYDEN_SEED={seed}", flush=True)  # noqa: T201  the last one failed
        await _live(seed, steps, template, sealer)


@pytest.mark.timeout(300)
async def test_a_few_lives_end_with_the_books_right(
    sqlite_template: Path, sealer: Sealer
) -> None:
    await _lives(6, 80, sqlite_template, sealer)


@pytest.mark.long
@pytest.mark.timeout(7200)
async def test_many_lives_end_with_the_books_right(
    sqlite_template: Path, sealer: Sealer
) -> None:
    await _lives(300, 200, sqlite_template, sealer)


async def _pay(harness: OrdersHarness, payer: FakePayer, order_id: str) -> None:
    """Order, pay once, and let time pass, with blocks."""
    wanted = Channel(capacity=Sats(400_000), node_key=_PEERS[0])
    order = await harness.create(wanted, HARBOUR, order_id)
    with suppress(PaymentFailed):  # told again
        harness.payments.pay(request_of(order))
    for _ in range(15):
        await harness.pass_time(minutes=2)
        payer.mine()


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("how", ["delivered", "unpaid", "lost"])
async def test_dying_at_any_step_changes_nothing(
    sqlite_template: Path, sealer: Sealer, how: str, *, after: bool
) -> None:
    order_id = "5b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55FO"
    steps, is_over = 0, False
    while not is_over:
        steps += 1
        with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
            shutil.copy(sqlite_template, f"{folder}/leyden.db")
            database = await open_database(f"sqlite:///{folder}/leyden.db")
            harness = OrdersHarness(
                database=database, sealer=sealer, payments=FakePayments()
            )
            rules = values.replace(harness.rules, sources=(Source.LSPS1,))
            harness.rules = rules
            await harness.open()
            life = Life(harness, seed=0)
            life.lsp.claims, life.lsp.opens = how != "unpaid", how != "lost"
            fuse = Fuse(steps=steps, after=after)
            mortal = replace(
                harness,
                database=FailingDatabase(database, fuse),
                payments=failing(harness.payments, fuse, "request", "settle", "cancel"),
                payer=failing(life.payer, fuse, "pay"),
            )
            try:
                await _pay(mortal, life.payer, order_id)
                is_over = True
            except Crashed:
                harness.now = mortal.now + timedelta(minutes=1)
                harness.deafen()
                await harness.start_sweeping()
                await _pay(harness, life.payer, order_id)
            if how == "unpaid":  # lnd may have been asked twice
                await harness.pass_time(hours=2)
            for _ in range(8 if how == "lost" else 0):
                life.payer.mine(72)
                await harness.pass_time(days=0.5)
            await life.check()
            purchase = await database.reader.purchases.find(order_id)
            assert purchase is not None
            assert purchase.status == how
            await database.close()
    assert steps > 10
