"""What holds for invoices that are wrapped: in memory, and with a real lnd."""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol

import pytest

from leyden.base.rules.times import utc_now
from leyden.channels.direct.base import Wrapping, WrapRefused
from leyden.channels.direct.lnd_wrapping import LndWrapping
from leyden.channels.direct.rules.jit import JitChannel
from leyden.channels.direct.rules.wrapped import (
    RETRIED,
    InnerInvoice,
    PaidState,
    limit_of,
)
from leyden.channels.payments.treasury import Treasury
from leyden.channels.rules.payments import InvoiceState
from leyden.values import replace
from leyden_workshop.devnet import access, purse
from tests.channels.contracts.treasuries import TreasuryHarness, owners_access
from tests.channels.contracts.worlds import FAKE_AND_LND
from tests.fakes.forwarding import FakeForwarding
from tests.fakes.seller import FakeSeller
from tests.fakes.wrapping import FakeWrapping
from tests.waiting import until

AMOUNT = 5_000_000
LIMIT = limit_of(80)
# Of mainnet, from BOLT 11.
MAINNET = (
    "lnbc1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzq"
    "fqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdpl2pkx2ctnv5sxxmmwwd5kgetjypeh2ursdae8g6twvus8g6"
    "rfwvs8qun0dfjkxaq9qrsgq357wnc5r2ueh7ck6q93dj32dlqnls087fxdwk8qakdyafkq3yap9us6v52vjjsr"
    "vywa6rt52cm9r9zqt8r2t7mlcwspyetp5h2tztugp9lfyql"
)
PEER = f"02{'c6047f94' * 8}"


class World(Protocol):
    """An lnd that wraps invoices, and a node with a channel, who also pays."""

    @property
    def wrapping(self) -> Wrapping:
        """What is to be tried."""
        ...

    async def invoice(self, *, amp: bool = False) -> str:
        """Let the node create an invoice, and return it."""
        ...

    async def keeping(self) -> str:
        """Let the node create an invoice whose payment it keeps, and return it."""
        ...

    async def claim(self) -> None:
        """Let the node claim what it keeps."""

    async def pay(self, payment_hash: str) -> None:
        """Begin to pay the wrapped invoice."""

    async def channel(self) -> JitChannel:
        """Return the channel to the node."""
        ...

    async def key(self) -> str:
        """Return the node's public key."""
        ...


@dataclass
class FakeWorld:
    """All in memory."""

    seller: FakeSeller = field(default_factory=FakeSeller)

    def __post_init__(self) -> None:
        forwarding = FakeForwarding(self.seller)
        self.wrapping = FakeWrapping(self.seller, forwarding, clock=utc_now)
        self.wrapping.free_msat[PEER] = 10**9

    async def invoice(self, *, amp: bool = False) -> str:
        return self.wrapping.invoice(PEER, AMOUNT, amp=amp).request

    async def keeping(self) -> str:
        self.wrapping.answers = False
        return await self.invoice()

    async def claim(self) -> None:
        (payment_hash,) = self.wrapping.paid
        self.wrapping.resolve(payment_hash, claims=True)

    async def pay(self, payment_hash: str) -> None:
        self.wrapping.pay_wrapped(payment_hash)

    async def channel(self) -> JitChannel:
        return JitChannel(order_id="", point="", scid=1, active=True, zero_conf=True)

    async def key(self) -> str:
        return PEER


class RealWorld:
    """The treasury's lnd as the purse, and the customer's as the node and payer."""

    def __init__(self, harness: TreasuryHarness) -> None:
        self._node = Treasury(owners_access(harness.customer))
        lnd = access.load(harness.home).lnds["treasury"]
        self._owner = Treasury(owners_access(lnd))
        reached = replace(owners_access(lnd), macaroon=purse.macaroon(harness.home))
        self.wrapping = LndWrapping(reached)
        self._preimage = secrets.token_bytes(32)

    async def invoice(self, *, amp: bool = False) -> str:
        """Once the purse can pay it: what it has in the channel, the payers sent."""
        wish = {"value_msat": str(AMOUNT), "memo": "two coffees", "is_amp": amp}
        made = await self._node.call("POST", "/v1/invoices", wish)
        return str(made["payment_request"])

    async def keeping(self) -> str:
        digest = hashlib.sha256(self._preimage).digest()
        wish = {
            "value_msat": str(AMOUNT),
            "hash": base64.b64encode(digest).decode(),
            "cltv_expiry": "80",
        }
        made = await self._node.call("POST", "/v2/invoices/hodl", wish)
        return str(made["payment_request"])

    async def claim(self) -> None:
        path = f"/v1/invoice/{hashlib.sha256(self._preimage).hexdigest()}"

        async def is_held() -> bool:
            return bool((await self._node.call("GET", path))["state"] == "ACCEPTED")

        await until(is_held)
        wish = {"preimage": base64.b64encode(self._preimage).decode()}
        await self._node.call("POST", "/v2/invoices/settle", wish)

    async def pay(self, payment_hash: str) -> None:
        found = await self._owner.call("GET", f"/v1/invoice/{payment_hash}")
        wish = {
            "payment_request": found["payment_request"],
            "timeout_seconds": 30,
            "fee_limit_sat": "100",
        }
        async for update in self._node.stream("POST", "/v2/router/send", wish):
            assert update["status"] == "IN_FLIGHT"
            return

    async def give(self) -> None:
        """Pay the purse so much that it can pay the node."""
        made = await self._owner.call(
            "POST", "/v1/invoices", {"value_msat": str(40 * AMOUNT)}
        )
        wish: dict[str, object] = {
            "payment_request": made["payment_request"],
            "timeout_seconds": 30,
            "fee_limit_sat": "100",
            "no_inflight_updates": True,
        }

        async def is_given() -> bool:
            """Try again: the channel of peers who have just met is not up at once."""
            updates = self._node.stream("POST", "/v2/router/send", wish)
            return [each["status"] async for each in updates] == ["SUCCEEDED"]

        await until(is_given, every_s=0.2)

        # The payer knows that it paid before the purse can spend that.
        key = await self.key()

        async def can_pay() -> bool:
            return await self.wrapping.receivable_msat(key) >= 2 * AMOUNT

        await until(can_pay)

    async def channel(self) -> JitChannel:
        listed = await self._owner.call("GET", "/v1/channels?active_only=true")
        key = await self.key()
        found = max(
            (each for each in listed["channels"] if each["remote_pubkey"] == key),
            key=lambda each: int(each["local_balance"]),
        )
        return JitChannel(
            order_id="",
            point=found["channel_point"],
            scid=int(found["chan_id"]),
            active=True,
            zero_conf=False,
        )

    async def key(self) -> str:
        return str((await self._node.call("GET", "/v1/getinfo"))["identity_pubkey"])

    async def preimage(self, payment_hash: str) -> str:
        """Return the node's secret."""
        found = await self._node.call("GET", f"/v1/invoice/{payment_hash}")
        return base64.b64decode(found["r_preimage"]).hex()

    async def close(self) -> None:
        for each in (self.wrapping, self._node, self._owner):
            await each.close()


@pytest.fixture(params=FAKE_AND_LND)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    harness: TreasuryHarness = request.getfixturevalue("treasury")
    await purse.bake(access.load(harness.home).lnds["treasury"], harness.home)
    real = RealWorld(harness)
    await real.give()
    yield real
    await real.close()


async def decoded(world: World) -> InnerInvoice:
    inner = await world.wrapping.decode(await world.invoice())
    assert isinstance(inner, InnerInvoice)
    return inner


async def wrapped(world: World, inner: InnerInvoice) -> None:
    made = await world.wrapping.hold(inner, msat=AMOUNT + 7_000, lives_s=600, delta=163)
    assert not isinstance(made, WrapRefused)
    assert made.state is InvoiceState.OPEN
    assert made.request


async def held(world: World, inner: InnerInvoice) -> None:
    await wrapped(world, inner)
    await world.pay(inner.payment_hash)

    async def is_held() -> bool:
        found = await world.wrapping.find(inner.payment_hash)
        return found.state is InvoiceState.ACCEPTED

    await until(is_held)


async def paid_on(world: World, inner: InnerInvoice, channel: JitChannel) -> None:
    refused = await world.wrapping.pay(inner.request, channel, cltv_limit=LIMIT)
    assert refused is None


async def test_an_invoice_is_decoded(world: World) -> None:
    inner = await decoded(world)
    assert inner.payee == await world.key()
    assert (inner.msat, inner.delta, inner.memo) == (AMOUNT, 80, "two coffees")
    left = inner.expires - utc_now()
    assert 0 < left.total_seconds() <= 86_400
    assert not inner.amp


async def test_an_invoice_for_many_payments_is_known(world: World) -> None:
    inner = await world.wrapping.decode(await world.invoice(amp=True))
    assert isinstance(inner, InnerInvoice)
    assert inner.amp


@pytest.mark.parametrize(
    "request_",
    [
        "lnbcrt1x",
        MAINNET,
    ],
)
async def test_what_is_no_invoice_of_this_chain_is_refused(
    world: World, request_: str
) -> None:
    answer = await world.wrapping.decode(request_)
    assert isinstance(answer, WrapRefused)
    assert answer.why


async def test_a_hold_invoice_is_created_once(world: World) -> None:
    inner = await decoded(world)
    missing = await world.wrapping.find(inner.payment_hash)
    assert missing.state is InvoiceState.MISSING
    await wrapped(world, inner)
    first = await world.wrapping.find(inner.payment_hash)
    again = await world.wrapping.hold(inner, msat=AMOUNT + 7_000, lives_s=60, delta=163)
    assert again == first
    other = await world.wrapping.hold(inner, msat=AMOUNT, lives_s=60, delta=163)
    assert isinstance(other, WrapRefused)
    pending = await world.wrapping.pending()
    assert pending[inner.payment_hash] == first
    assert await world.wrapping.cancel(inner.payment_hash)
    assert await world.wrapping.cancel(inner.payment_hash)
    assert inner.payment_hash not in await world.wrapping.pending()
    gone = await world.wrapping.hold(inner, msat=AMOUNT + 7_000, lives_s=60, delta=163)
    assert isinstance(gone, WrapRefused)


async def test_a_payment_is_held_paid_on_and_settled(world: World) -> None:
    inner = await decoded(world)
    await held(world, inner)
    found = await world.wrapping.find(inner.payment_hash)
    assert found.msat == AMOUNT + 7_000
    assert found.expires > 163
    none = await world.wrapping.payment(inner.payment_hash)
    assert none.state is PaidState.NONE
    channel = await world.channel()
    for _ in range(2):  # what is paid is not paid again
        await paid_on(world, inner, channel)
    payment = await world.wrapping.payment(inner.payment_hash)
    assert (payment.state, payment.msat) == (PaidState.SUCCEEDED, AMOUNT)
    for _ in range(2):
        assert await world.wrapping.settle(payment.preimage)
    assert not await world.wrapping.cancel(inner.payment_hash)
    settled = await world.wrapping.find(inner.payment_hash)
    assert (settled.state, settled.msat) == (InvoiceState.SETTLED, AMOUNT + 7_000)


async def test_a_payment_that_cant_be_paid_on_goes_back(world: World) -> None:
    """Over a channel that leads nowhere, for instance not yet."""
    inner = await decoded(world)
    await held(world, inner)
    if isinstance(world, FakeWorld):
        world.wrapping.no_routes = 1
    channel = replace(await world.channel(), scid=16_123_456 << 40)
    await paid_on(world, inner, channel)
    payment = await world.wrapping.payment(inner.payment_hash)
    assert (payment.state, payment.preimage) == (PaidState.FAILED, "")
    assert payment.why in RETRIED
    assert await world.wrapping.cancel(inner.payment_hash)
    gone = await world.wrapping.find(inner.payment_hash)
    assert gone.state is InvoiceState.CANCELLED
    assert not await world.wrapping.settle(await preimage_of(world, inner))


async def preimage_of(world: World, inner: InnerInvoice) -> str:
    if isinstance(world, FakeWorld):
        return world.wrapping.preimages[inner.payment_hash]
    assert isinstance(world, RealWorld)
    return await world.preimage(inner.payment_hash)


async def test_a_payment_that_failed_can_be_begun_again(world: World) -> None:
    inner = await decoded(world)
    await wrapped(world, inner)
    if isinstance(world, FakeWorld):
        world.wrapping.no_routes = 1
    right = await world.channel()
    wrong = replace(right, scid=16_123_456 << 40)
    for channel, state in ((wrong, PaidState.FAILED), (right, PaidState.SUCCEEDED)):
        await paid_on(world, inner, channel)
        assert (await world.wrapping.payment(inner.payment_hash)).state is state


async def test_a_payment_that_the_node_keeps_is_told_of_once_it_is_decided(
    world: World,
) -> None:
    inner = await world.wrapping.decode(await world.keeping())
    assert isinstance(inner, InnerInvoice)
    await wrapped(world, inner)
    paying = asyncio.create_task(paid_on(world, inner, await world.channel()))

    async def is_kept() -> bool:
        found = await world.wrapping.payment(inner.payment_hash)
        return found.state is PaidState.IN_FLIGHT

    await until(is_kept)
    telling = asyncio.create_task(world.wrapping.decided(inner.payment_hash))
    await asyncio.sleep(1)
    assert not telling.done()
    await world.claim()
    async with asyncio.timeout(20):
        await telling
    payment = await world.wrapping.payment(inner.payment_hash)
    assert payment.state is PaidState.SUCCEEDED
    await world.wrapping.decided(inner.payment_hash)
    await paying


async def test_what_a_node_can_receive_is_told(world: World) -> None:
    assert await world.wrapping.receivable_msat(await world.key()) >= AMOUNT
    assert await world.wrapping.receivable_msat(f"03{secrets.token_hex(32)}") == 0


async def test_a_payment_that_lnd_would_not_begin_is_refused(world: World) -> None:
    inner = await decoded(world)
    await wrapped(world, inner)
    channel = await world.channel()
    answer = await world.wrapping.pay(inner.request, channel, cltv_limit=LIMIT - 1)
    assert isinstance(answer, WrapRefused)
    payment = await world.wrapping.payment(inner.payment_hash)
    assert payment.state is PaidState.NONE
