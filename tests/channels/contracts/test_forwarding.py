"""What holds for an interceptor and its lnd: in memory, and with a real one."""

import asyncio
import base64
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from leyden.base.rules.times import utc_now
from leyden.channels.direct.base import Forwarding, Interception
from leyden.channels.direct.lnd_forwarding import LndForwarding
from leyden.channels.direct.rules.jit import HeldHtlc, HtlcAnswer
from leyden.channels.payments.treasury import Treasury
from leyden.errors import SellerAway
from leyden.values import replace
from leyden_workshop.devnet import access, actions, purse
from tests.channels.contracts.treasuries import TreasuryHarness, owners_access
from tests.channels.contracts.worlds import FAKE_AND_LND
from tests.fakes.forwarding import FakeForwarding, Fate, Paid
from tests.fakes.seller import FakeSeller
from tests.waiting import until

AMOUNT = 5_000_000
UNKNOWN = 16_123_456 << 40 | 7 << 16 | 1  # a channel id that no channel has
STRANGER = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


class World(Protocol):
    """An lnd that forwards, and a payer."""

    @property
    def forwarding(self) -> Forwarding:
        """What is to be tried."""
        ...

    async def pay(
        self, payment_hash: str, *, sent: int = AMOUNT, lock: int = 200
    ) -> None:
        """Begin to pay to the unknown channel id, and ask to forward AMOUNT.

        What is sent is locked for so many blocks.
        """

    async def mine(self, blocks: int) -> None:
        """Let blocks be found."""

    async def fate(self, payment_hash: str) -> str:
        """Return what the payer is told in the end."""
        ...


@dataclass
class FakeWorld:
    """All in memory."""

    forwarding: FakeForwarding = field(
        default_factory=lambda: FakeForwarding(FakeSeller())
    )
    paid: dict[str, Paid] = field(default_factory=dict)
    locks: dict[str, int] = field(default_factory=dict)

    async def pay(
        self, payment_hash: str, *, sent: int = AMOUNT, lock: int = 200
    ) -> None:
        self.locks[payment_hash] = lock
        (self.paid[payment_hash],) = self.forwarding.pay(UNKNOWN, payment_hash, sent)

    async def mine(self, blocks: int) -> None:
        for payment_hash, lock in self.locks.items():
            self.locks[payment_hash] = lock - blocks
            if self.locks[payment_hash] <= 13:
                self.forwarding.give_up(payment_hash)

    async def fate(self, payment_hash: str) -> str:
        paid = self.paid[payment_hash]
        await until(lambda: paid.fate is not Fate.HELD)
        failed = paid.fate is Fate.FAILED
        return "TEMPORARY_CHANNEL_FAILURE" if failed else "UNKNOWN_NEXT_PEER"


class RealWorld:
    """The treasury's lnd as the purse, and the customer's as the payer."""

    def __init__(self, harness: TreasuryHarness) -> None:
        self._payer = Treasury(owners_access(harness.customer))
        self._home = harness.home
        lnd = access.load(harness.home).lnds["treasury"]
        reached = replace(owners_access(lnd), macaroon=purse.macaroon(harness.home))
        self.forwarding = LndForwarding(reached)
        self._paying: dict[str, asyncio.Task[dict[str, Any]]] = {}

    async def pay(
        self, payment_hash: str, *, sent: int = AMOUNT, lock: int = 200
    ) -> None:
        channels = await self._payer.call("GET", "/v1/channels?active_only=true")
        channel = max(channels["channels"], key=lambda c: int(c["local_balance"]))
        info = await self._payer.call("GET", "/v1/getinfo")
        expiry = int(info["block_height"]) + lock // 2
        amount = {"amt_to_forward_msat": str(AMOUNT), "expiry": expiry}
        hops = [
            {
                **amount,
                "chan_id": channel["chan_id"],
                "pub_key": channel["remote_pubkey"],
            },
            {**amount, "chan_id": str(UNKNOWN), "pub_key": STRANGER},
        ]
        route = {
            "total_time_lock": expiry + lock - lock // 2,
            "total_amt_msat": str(sent),
            "hops": hops,
        }
        raw = base64.b64encode(bytes.fromhex(payment_hash)).decode()
        wish: dict[str, object] = {"payment_hash": raw, "route": route}
        self._paying[payment_hash] = asyncio.create_task(self._send(wish))

    async def _send(self, wish: dict[str, object]) -> dict[str, Any]:
        """Send again while the payer's own channel carries nothing.

        Two peers that lost each other both call, and drop one connection of two.
        """
        while True:
            answer = await self._payer.call(
                "POST", "/v2/router/route/send", wish, timeout_s=120
            )
            if answer["failure"].get("failure_source_index", 0):
                return answer
            await asyncio.sleep(0.5)

    async def mine(self, blocks: int) -> None:
        await actions.mine(self._home, blocks)

    async def fate(self, payment_hash: str) -> str:
        answer = await self._paying[payment_hash]
        return str(answer["failure"]["code"])

    async def close(self) -> None:
        await self.forwarding.close()
        await self._payer.close()


@pytest.fixture(params=FAKE_AND_LND)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    harness: TreasuryHarness = request.getfixturevalue("treasury")
    await purse.bake(access.load(harness.home).lnds["treasury"], harness.home)
    real = RealWorld(harness)
    yield real
    await real.close()


async def asked(connection: Interception) -> HeldHtlc:
    async with asyncio.timeout(30), aclosing(connection.htlcs()) as arriving:
        async for each in arriving:
            return each
    raise AssertionError("the connection ended")


async def test_lnd_asks_about_a_channel_that_does_not_exist_and_asks_again(
    world: World,
) -> None:
    payment_hash = secrets.token_hex(32)
    async with world.forwarding.intercept() as connection:
        await world.pay(payment_hash)
        first = await asked(connection)
    assert (first.scid, first.payment_hash) == (UNKNOWN, payment_hash)
    assert first.amount_msat == AMOUNT
    async with world.forwarding.intercept() as connection:
        if isinstance(world, FakeWorld):
            assert await asked(connection) == first
            await connection.answer(HtlcAnswer(first.circuit))
    # Without `requireinterceptor`, lnd resumes what it held for one that is gone.
    assert await world.fate(payment_hash) == "UNKNOWN_NEXT_PEER"


@pytest.mark.parametrize(
    ("fails", "told"),
    [(True, "TEMPORARY_CHANNEL_FAILURE"), (False, "UNKNOWN_NEXT_PEER")],
)
async def test_a_payer_is_told_what_the_answer_says(
    world: World, *, fails: bool, told: str
) -> None:
    payment_hash = secrets.token_hex(32)
    async with world.forwarding.intercept() as connection:
        await world.pay(payment_hash)
        htlc = await asked(connection)
        await connection.answer(HtlcAnswer(htlc.circuit, fails=fails))
        assert await world.fate(payment_hash) == told


async def test_what_arrived_counts_not_what_the_payer_asks_to_forward(
    world: World,
) -> None:
    payment_hash = secrets.token_hex(32)
    async with world.forwarding.intercept() as connection:
        await world.pay(payment_hash, sent=AMOUNT - 100_000)
        htlc = await asked(connection)
        assert htlc.amount_msat == AMOUNT - 100_000
        await connection.answer(HtlcAnswer(htlc.circuit, fails=True))
        assert await world.fate(payment_hash) == "TEMPORARY_CHANNEL_FAILURE"


async def test_there_is_one_interceptor(world: World) -> None:
    async with world.forwarding.intercept() as first:
        with pytest.raises(SellerAway):
            async with world.forwarding.intercept() as second:
                await asked(second)
        payment_hash = secrets.token_hex(32)
        await world.pay(payment_hash)
        htlc = await asked(first)
        await first.answer(HtlcAnswer(htlc.circuit, fails=True))
        assert await world.fate(payment_hash) == "TEMPORARY_CHANNEL_FAILURE"


async def test_an_answer_too_many_ends_the_connection(world: World) -> None:
    """Whatever else is held is then as if nobody were there."""
    first, second = secrets.token_hex(32), secrets.token_hex(32)
    async with world.forwarding.intercept() as connection:
        await world.pay(first)
        htlc = await asked(connection)
        await world.pay(second)
        other = await asked(connection)
        await connection.answer(HtlcAnswer(htlc.circuit, fails=True))
        assert await world.fate(first) == "TEMPORARY_CHANNEL_FAILURE"
        await connection.answer(HtlcAnswer(htlc.circuit, fails=True))
        with pytest.raises(SellerAway):
            await asked(connection)
    async with world.forwarding.intercept() as connection:
        if isinstance(world, FakeWorld):
            assert await asked(connection) == other
            await connection.answer(HtlcAnswer(other.circuit))
    assert await world.fate(second) == "UNKNOWN_NEXT_PEER"


async def test_what_nobody_answers_is_failed_before_it_expires(world: World) -> None:
    """As with an interceptor that hangs: connected, and silent."""
    payment_hash = secrets.token_hex(32)
    async with world.forwarding.intercept() as connection:
        await world.pay(payment_hash, lock=40)
        await asked(connection)
        await world.mine(28)
        assert await world.fate(payment_hash) == "TEMPORARY_CHANNEL_FAILURE"


async def test_channels_and_history_can_be_read(world: World) -> None:
    assert isinstance(await world.forwarding.channels(), list)
    assert isinstance(await world.forwarding.forwards(utc_now()), list)
