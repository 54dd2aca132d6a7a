"""Days of just-in-time orders in seconds: whatever goes wrong is drawn.

One seed gives one life: what wallets buy, what payers send to it and in how many parts,
what wallets do with it, when lnd is away or restarts, and when the program dies. In the
end everything heals; then no payment is held, each order has its fee once, or none, and
nobody has what somebody else lost. The seed of a life is printed, and LEYDEN_SEED lives
it again, though not each pass of the event loop.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules import jit as rules
from leyden.channels.direct.rules.jit import FUNDED, JitOrder, JitStatus
from leyden.values import replace
from tests.channels.jit_harness import SIZE, JitHarness
from tests.channels.orders_harness import OrdersHarness
from tests.fakes.forwarding import OTHERS, PAYERS, Fate, Paid, alias_of
from tests.waiting import until

_CHANCE = random.SystemRandom()
_PEERS = [f"02{number:064x}" for number in range(6)]
_UNDER_WAY = {*rules.HELD_STATES, JitStatus.RESUMING, JitStatus.RETRACTING}
_STRANGER = 900_000 << 40 | 1


class Life:
    """One purse and everyone around it, from a seed."""

    def __init__(self, jit: JitHarness, seed: int) -> None:
        self.jit = jit
        self.dice = random.Random(seed)  # noqa: S311  no secret
        self.scids: list[int] = []
        self.payments = 0
        self.serving = contextlib.AsyncExitStack()
        self.happenings: dict[Callable[[], Awaitable[None]], int] = {
            self.buy: 5,
            self.pay: 10,
            self.pay_a_part: 3,
            self.pay_somebody_else: 2,
            self.pay_by_lnds_own_id: 3,
            self.wallets_come_and_go: 4,
            self.wallets_decide: 4,
            self.peers_answer: 3,
            self.die: 5,
            self.lnd_restarts: 4,
            self.lnd_comes_and_goes: 3,
            self.lose_answers: 2,
            self.let_time_pass: 5,
        }

    async def live(self, steps: int) -> None:
        await self.start()
        for _ in range(steps):
            (happens,) = self.dice.choices(
                list(self.happenings), list(self.happenings.values())
            )
            await happens()
            if self.dice.random() < 0.5:
                for _ in range(self.dice.choice([0, 3, 30, 300])):
                    await asyncio.sleep(0)  # others run, and how far is drawn
                continue
            with contextlib.suppress(TimeoutError):
                await until(self.holds_nothing, within_s=0.5)

    def holds_nothing(self) -> bool:
        return all(each.fate is not Fate.HELD for each in self.paid())

    # The program.

    async def start(self) -> None:
        with contextlib.suppress(TimeoutError):
            within_s = 1 if self.jit.purse.away else 10
            await self.serving.enter_async_context(self.jit.serving(within_s=within_s))

    async def die(self) -> None:
        """End at any instant; what is in memory is gone."""
        await self.serving.aclose()
        self.jit.orders.now += timedelta(minutes=1)  # its claim has run out
        await self.start()

    # What people do.

    async def buy(self) -> None:
        sent = self.jit.messages.sent
        while not sent.empty():
            sent.get_nowait()  # what came too late
        # Refused, or nobody listens, or what comes late is for another.
        with contextlib.suppress(KeyError, TimeoutError, AssertionError):
            async with asyncio.timeout(1):
                self.scids.append(await self.jit.bought(self.dice.choice(_PEERS)))

    async def pay(self) -> None:
        """Send a payment, or more than one, in parts that arrive by several ways."""
        if not self.scids:
            return
        scid, left = self.dice.choice(self.scids[-3:]), SIZE
        payment_hash = self.new_hash()
        while left:
            part = self.dice.choice([left, max(left // 2, 20_000_000)])
            part = min(part, left)
            left -= part
            by = self.dice.choice([PAYERS, OTHERS])
            self.jit.forwarding.pay(scid, payment_hash, part, by=by)

    async def pay_a_part(self) -> None:
        """The rest never comes."""
        if self.scids:
            scid = self.dice.choice(self.scids)
            self.jit.forwarding.pay(scid, self.new_hash(), SIZE // 3)

    async def pay_somebody_else(self) -> None:
        self.jit.forwarding.pay(_STRANGER, self.new_hash(), 7_000)

    async def pay_by_lnds_own_id(self) -> None:
        """Past the order's own channel id, which takes no fee."""
        if self.jit.purse.channels:
            point = self.dice.choice(list(self.jit.purse.channels))
            self.jit.forwarding.pay(alias_of(point), self.new_hash(), 9_000)

    def new_hash(self) -> str:
        self.payments += 1
        return f"{self.payments:064x}"

    # What wallets do.

    async def wallets_come_and_go(self) -> None:
        purse, dice = self.jit.purse, self.dice
        purse.online = {each for each in _PEERS if dice.random() < 0.8}
        purse.refuses = dice.choice([*[""] * 7, "channel rejected"])
        purse.freezes = dice.random() < 0.1
        self.jit.forwarding.active = dice.random() < 0.9

    async def peers_answer(self) -> None:
        self.jit.purse.thaw(refuses=self.dice.random() < 0.5)

    async def wallets_decide(self) -> None:
        forwarding, dice = self.jit.forwarding, self.dice
        forwarding.claims, forwarding.answers = (
            dice.random() < 0.7,
            dice.random() < 0.7,
        )
        kept = sorted(
            {p.htlc.payment_hash for p in self.paid() if p.fate is Fate.FORWARDED}
        )
        for payment_hash in kept:
            if dice.random() < 0.5:
                forwarding.resolve(payment_hash, claims=dice.random() < 0.6)

    # What goes wrong.

    async def lnd_restarts(self) -> None:
        self.jit.forwarding.restart()

    async def lnd_comes_and_goes(self) -> None:
        self.jit.purse.away = self.dice.random() < 0.4
        if self.jit.purse.away:
            self.jit.forwarding.restart()

    async def lose_answers(self) -> None:
        self.jit.purse.answers_lost = self.dice.randint(0, 2)
        self.jit.forwarding.drops_answers = self.dice.randint(0, 1)
        unpublished, dice = self.jit.unpublished, self.dice
        unpublished.dies_at = dice.choice(["", "", "funded", "stored", "given up"])
        unpublished.refuses = dice.choice(["", "", "", "mempool min fee not met"])

    async def let_time_pass(self) -> None:
        self.jit.purse.height += self.dice.choice([0, 0, 1, 2])
        self.jit.purse.fee_sat_per_vb = self.dice.choice([*[10] * 6, 1, 20])
        self.jit.orders.now += timedelta(
            seconds=self.dice.choice([1, 11, 11, 45, 91, 2_400, 80_000])
        )

    # How it ends.

    def paid(self) -> list[Paid]:
        return list(self.jit.forwarding.paid.values())

    async def heal(self) -> None:
        purse, forwarding = self.jit.purse, self.jit.forwarding
        purse.away, purse.refuses, purse.answers_lost = False, "", 0
        purse.thaw(refuses=self.dice.random() < 0.5)
        purse.online = set(_PEERS)
        forwarding.active = forwarding.claims = forwarding.answers = True
        forwarding.drops_answers = 0
        self.jit.unpublished.dies_at = self.jit.unpublished.refuses = ""
        await self.die()
        for _ in range(4):
            for payment_hash in {each.htlc.payment_hash for each in self.paid()}:
                forwarding.resolve(payment_hash, claims=self.dice.random() < 0.5)
            self.jit.orders.now += timedelta(minutes=40)
            await until(self.has_settled, within_s=30)

    async def has_settled(self) -> bool:
        """Whether nothing is held, nor under way."""
        open_ = {Fate.HELD, Fate.FORWARDED}
        if any(each.fate in open_ for each in self.paid()):
            for each in self.paid():  # wallets decide about what comes late
                self.jit.forwarding.resolve(each.htlc.payment_hash, claims=True)
            self.jit.orders.now += timedelta(seconds=5)
            return False
        self.jit.orders.now += timedelta(seconds=5)
        return not any(
            each.status in _UNDER_WAY
            or (each.status is JitStatus.EARNED and each.is_unpublished)
            for each in await self.orders()
        )

    async def orders(self) -> list[JitOrder]:
        reader = self.jit.orders.database.reader.jit_orders
        return await reader.in_states(list(JitStatus))

    async def check(self) -> None:
        """Each satoshi is where it belongs."""
        await self.serving.aclose()
        await self.jit.prove()
        orders, channels = await self.orders(), self.jit.purse.channels.values()
        by_order = [each.wanted.order_id for each in channels]
        assert len(set(by_order)) == len(by_order), "no order has two channels"
        assert {each.id for each in orders if each.status in FUNDED} == set(by_order)
        coins = [coin for each in channels for coin in each.wanted.coins]
        assert len(set(coins)) == len(coins), "no two channels have a coin"
        history = sum(each.fee_msat for each in self.jit.forwarding.history)
        assert sum(each.earned_msat for each in orders) == history
        for order in orders:
            parts = await self.jit.orders.database.reader.jit_orders.parts(order.id)
            assert order.earned_msat in {0, order.fee_msat}, (order, parts)
        for each in self.paid():
            if each.htlc.scid == _STRANGER:
                assert each.fate in {Fate.PASSED, Fate.UNKNOWN}, each


async def _live(database: Database, sealer: Sealer, seed: int, steps: int) -> None:
    orders = OrdersHarness(database, sealer)
    await orders.open()
    jit = JitHarness(orders)
    jit.purse.online = set(_PEERS)
    jit.purse.fill([2_000_000] * 30)
    jit.rules = replace(
        jit.rules,
        lives=timedelta(days=1),
        most_per_hour=Sats(10**9),
        most_unpaid=Sats(10**9),
        messages_per_minute=10_000,
        client_trusts_lsp=bool(seed % 2),
    )
    life = Life(jit, seed)
    try:
        await life.live(steps)
        await life.heal()
        await life.check()
    finally:
        await life.serving.aclose()


@pytest.mark.parametrize(
    "life", [*range(4), *(pytest.param(n, marks=pytest.mark.long) for n in range(60))]
)
async def test_whatever_happens_each_fee_is_taken_once_or_never(
    life: int, sqlite_db: Database, sealer: Sealer
) -> None:
    del life
    seed = int(os.environ.get("LEYDEN_SEED") or _CHANCE.randrange(2**32))
    print(f"LEYDEN_SEED={seed}", flush=True)  # noqa: T201  the last one failed
    await _live(sqlite_db, sealer, seed, 40)
