"""Any walk through just-in-time orders, one step after the other, ends as a model says.

The model knows nothing of processes, connections and coins: what becomes of a payment
follows from its order, from its wallet, and from what else that wallet has.
"""

import os
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.jit import GIVEN_UP_AFTER, JitOrder, JitStatus
from leyden.values import replace
from tests.channels.jit_harness import FEE, SIZE, JitHarness
from tests.channels.orders_harness import OrdersHarness
from tests.fakes.forwarding import OTHERS, PAYERS, Fate, Paid
from tests.waiting import until

_CHANCE = random.SystemRandom()
_PEERS = [f"02{number:064x}" for number in range(2)]
_SETTLES_S = 10
_MOST_ORDERS = 4


@dataclass
class Sale:
    """A channel id, as the model sees it."""

    peer: str
    status: JitStatus = JitStatus.SOLD
    kept: str = ""  # the hash of the payment that its wallet keeps
    trusts: bool = False  # so that a refused payment ends it

    @property
    def refused(self) -> JitStatus:
        return JitStatus.EXPIRED if self.trusts else JitStatus.UNPAID


@dataclass
class Model:
    """Everything there is."""

    sales: dict[int, Sale] = field(default_factory=dict)
    online: set[str] = field(default_factory=set)
    decides: str = "claims"  # or refuses, or keeps: what wallets do
    rejects: bool = False  # ... with channels

    def may_buy(self, peer: str) -> bool:
        return not self._has(peer, JitStatus.UNPAID)

    def pay(self, scid: int, payment_hash: str, *, whole: bool) -> Fate:
        """Return what becomes of a payment, once its time is over."""
        sale = self.sales[scid]
        if sale.status is JitStatus.EARNED:
            return self._decide()
        if sale.status is JitStatus.EXPIRED:
            return Fate.UNKNOWN
        is_kept = sale.status is JitStatus.RESUMING
        if not whole or sale.peer not in self.online or is_kept:
            return Fate.FAILED
        if sale.status is JitStatus.SOLD:
            if self._has(sale.peer, JitStatus.RESUMING):
                return Fate.FAILED
            if self._has(sale.peer, JitStatus.UNPAID) or self.rejects:
                return Fate.UNKNOWN
        fate = self._decide()
        sale.status = {
            Fate.CLAIMED: JitStatus.EARNED,
            Fate.REFUSED: sale.refused,
            Fate.FORWARDED: JitStatus.RESUMING,
        }[fate]
        sale.kept = payment_hash if fate is Fate.FORWARDED else ""
        return fate

    def resolve(self, scid: int, *, claims: bool) -> None:
        sale = self.sales[scid]
        sale.status = JitStatus.EARNED if claims else sale.refused
        sale.kept = ""

    def _decide(self) -> Fate:
        return {
            "claims": Fate.CLAIMED,
            "refuses": Fate.REFUSED,
            "keeps": Fate.FORWARDED,
        }[self.decides]

    def _has(self, peer: str, status: JitStatus) -> bool:
        return any(
            each.peer == peer and each.status is status for each in self.sales.values()
        )


class Walk:
    """A purse that the model is held against, from a seed."""

    def __init__(self, jit: JitHarness, seed: int) -> None:
        self.jit, self.model = jit, Model(online=set(_PEERS))
        self.dice = random.Random(seed)  # noqa: S311  no secret
        self.serving = AsyncExitStack()
        self.payments = 0

    async def go(self, steps: int) -> None:
        self.jit.purse.online = set(self.model.online)
        await self.serving.enter_async_context(self.jit.serving())
        await self.buy()
        ways = {
            self.buy: 3,
            self.pay: 9,
            self.wallets_change: 4,
            self.a_wallet_decides: 3,
            self.platform_restarts: 1,
            self.lnd_restarts: 2,
        }
        for _ in range(steps):
            (step,) = self.dice.choices(list(ways), list(ways.values()))
            await step()
            await self.agree()
        await self.serving.aclose()
        await self.jit.prove()

    async def buy(self) -> None:
        peer = self.dice.choice(_PEERS)
        if len(self.model.sales) == _MOST_ORDERS:
            return
        answer = await self.jit.buy(await self.jit.offer(peer), peer)
        assert ("result" in answer) is self.model.may_buy(peer), answer
        if "result" in answer:
            (order,) = [
                each
                for each in await self.orders()
                if each.id == answer["result"]["jit_channel_scid"]
            ]
            assert answer["result"]["client_trusts_lsp"] is order.trusts
            self.model.sales[order.scid] = Sale(peer, trusts=order.trusts)

    async def pay(self) -> None:
        scid = self.dice.choice(sorted(self.model.sales))
        self.payments += 1
        payment_hash = f"{self.payments:064x}"
        amounts = self.dice.choice([(SIZE,), (SIZE // 2,) * 2, (SIZE // 4,)])
        is_earned = self.model.sales[scid].status is JitStatus.EARNED
        fate = self.model.pay(scid, payment_hash, whole=sum(amounts) == SIZE)
        paid: list[Paid] = []
        for number, amount in enumerate(amounts):
            by = OTHERS if number % 2 else PAYERS
            paid += self.jit.forwarding.pay(scid, payment_hash, amount, by=by)
        await self.becomes(paid, fate)
        if fate is Fate.REFUSED and not is_earned:
            await self.settles(scid)
        if fate is Fate.CLAIMED:
            received = self.jit.forwarding.received_msat(payment_hash)
            assert received == sum(amounts) - (0 if is_earned else FEE)

    async def becomes(self, paid: list[Paid], fate: Fate) -> None:
        def has_become() -> bool:
            if fate is Fate.FAILED:  # it is held for its time, from when it is noticed
                self.jit.orders.now += timedelta(seconds=1)
            return {each.fate for each in paid} == {fate}

        try:
            await until(has_become, within_s=20)
        except TimeoutError:
            raise AssertionError((fate, paid, self.model)) from None

    async def settles(self, scid: int) -> None:
        """Wait until it is known what became of a payment that was forwarded."""
        await self.jit.becomes(scid, JitStatus.RESUMING)
        self.jit.orders.now += timedelta(seconds=_SETTLES_S)
        if self.model.sales[scid].trusts:
            await self.jit.becomes(scid, JitStatus.UNPAID)
            self.jit.orders.now += GIVEN_UP_AFTER
        await self.jit.becomes(scid, self.model.sales[scid].status)

    async def wallets_change(self) -> None:
        model, forwarding = self.model, self.jit.forwarding
        model.online = {each for each in _PEERS if self.dice.random() < 0.7}
        model.decides = self.dice.choice(["claims", "claims", "refuses", "keeps"])
        model.rejects = self.dice.random() < 0.2
        self.jit.purse.online = set(model.online)
        self.jit.purse.refuses = "channel rejected" if model.rejects else ""
        forwarding.answers = model.decides != "keeps"
        forwarding.claims = model.decides == "claims"

    async def a_wallet_decides(self) -> None:
        kept = sorted(scid for scid, each in self.model.sales.items() if each.kept)
        if not kept:
            return
        scid, claims = self.dice.choice(kept), self.dice.random() < 0.5
        payment_hash = self.model.sales[scid].kept
        self.jit.forwarding.resolve(payment_hash, claims=claims)
        self.model.resolve(scid, claims=claims)
        if not claims:
            await self.settles(scid)

    async def platform_restarts(self) -> None:
        await self.serving.aclose()
        self.jit.orders.now += timedelta(minutes=1)  # its claim has run out
        await self.serving.enter_async_context(self.jit.serving())

    async def lnd_restarts(self) -> None:
        before = self.jit.forwarding.interceptors
        self.jit.forwarding.restart()
        await until(lambda: self.jit.forwarding.interceptors > before, within_s=20)

    async def orders(self) -> list[JitOrder]:
        reader = self.jit.orders.database.reader.jit_orders
        return await reader.in_states(list(JitStatus))

    async def agree(self) -> None:
        for scid, sale in self.model.sales.items():
            await self.jit.becomes(scid, sale.status)
        channels = [each.wanted.order_id for each in self.jit.purse.channels.values()]
        with_channel = {JitStatus.EARNED, JitStatus.UNPAID, JitStatus.RESUMING}
        assert len(channels) == sum(
            each.status in with_channel for each in self.model.sales.values()
        )


@pytest.mark.parametrize(
    "walk",
    [*range(2), *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 60))],
)
@pytest.mark.timeout(300)
async def test_each_payment_ends_as_the_model_says(
    walk: int, sqlite_db: Database, sealer: Sealer
) -> None:
    del walk
    seed = int(os.environ.get("LEYDEN_SEED") or _CHANCE.randrange(2**32))
    print(f"LEYDEN_SEED={seed}", flush=True)  # noqa: T201
    orders = OrdersHarness(sqlite_db, sealer)
    await orders.open()
    jit = JitHarness(orders)
    jit.purse.fill([2_000_000] * 10)
    jit.rules = replace(
        jit.rules,
        lives=timedelta(days=10),
        most_per_hour=Sats(10**9),
        most_unpaid=Sats(10**9),
        messages_per_minute=10_000,
        client_trusts_lsp=bool(seed % 2),
    )
    one = Walk(jit, seed)
    try:
        await one.go(15)
    finally:
        await one.serving.aclose()
