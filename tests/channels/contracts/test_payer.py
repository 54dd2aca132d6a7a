"""What holds for an lnd that pays other LSPs: in memory, and with real ones."""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import pytest

from leyden.base import processes
from leyden.base.processes.daemons import claim
from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.channels.direct.base import Payer, WrapRefused
from leyden.channels.direct.connection import BUYING_PERMISSIONS
from leyden.channels.direct.lnd_payer import LndPayer
from leyden.channels.direct.rules.wrapped import InnerInvoice, InnerPayment, PaidState
from leyden.channels.payments.treasury import Treasury
from leyden.channels.rules.payments import Outpoint
from leyden.channels.rules.pricing import Channel
from leyden.errors import SellerAway
from leyden.values import Struct, replace
from leyden_workshop.devnet import access, actions, seller
from leyden_workshop.devnet.lnd import LndDaemon, access_for
from leyden_workshop.devnet.supervision import SupervisingKeeper
from tests.channels.contracts.test_wrapping import MAINNET
from tests.channels.contracts.treasuries import (
    CHAIN,
    TreasuryHarness,
    owners_access,
    synced,
)
from tests.channels.contracts.worlds import FAKE_AND_LND
from tests.fakes.lsp import LSP_KEY, PAYER_KEY, FakeLsp, FakePayer, SoldChannel
from tests.ports import free_ports
from tests.waiting import until

AMOUNT = 5_000_000
ROUTING = 1_005  # an lnd asks for 1 sat and 1 ppm
ENOUGH, TOO_LITTLE = Sats(2), Sats(1)
DELTA = 144
CAPACITY = Sats(1_000_000)


class Asked(Struct, frozen=True, kw_only=True):
    """An invoice of the LSP."""

    request: str
    payment_hash: str


class Confirmed(Struct, frozen=True, kw_only=True):
    """A channel in a block."""

    point: Outpoint
    sats: Sats
    height: int


class World(Protocol):
    """An lnd that pays, and an LSP that is paid over another node's channel."""

    @property
    def payer(self) -> Payer:
        """What is to be tried."""
        ...

    async def invoice(self, *, lives_s: int = 600, keeps: bool = False) -> Asked:
        """Return a new invoice; `keeps`: the LSP holds its payment."""
        ...

    async def answer(self, asked: Asked, *, claims: bool) -> None:
        """Let the LSP claim a payment that it holds, or refuse it."""

    async def expire(self, expires: datetime) -> None:
        """Let this time pass."""

    async def channel(self) -> Confirmed:
        """Return a channel in a block."""
        ...

    async def keys(self) -> tuple[str, str]:
        """Return the public keys of the lnd that pays, and of the LSP."""
        ...

    async def leave(self) -> None:
        """Take the lnd that pays away."""


@dataclass
class FakeWorld:
    """All in memory."""

    late: timedelta = timedelta(0)
    lsp: FakeLsp = field(init=False)
    payer: FakePayer = field(init=False)

    def __post_init__(self) -> None:
        self.lsp = FakeLsp(
            clock=lambda: utc_now() + self.late, price=AMOUNT // 1_000, delta=DELTA
        )
        self.payer = FakePayer(self.lsp, routing_msat=ROUTING)

    async def invoice(self, *, lives_s: int = 600, keeps: bool = False) -> Asked:
        self.lsp.lives, self.lsp.answers = timedelta(seconds=lives_s), not keeps
        await self.lsp.order(Channel(capacity=CAPACITY, node_key=LSP_KEY))
        found = list(self.lsp.sold.values())[-1].invoice
        return Asked(request=found.request, payment_hash=found.payment_hash)

    async def answer(self, asked: Asked, *, claims: bool) -> None:
        self.lsp.claims = claims
        self.payer.resolve(self._sold(asked))

    async def expire(self, expires: datetime) -> None:
        self.late += expires - self.lsp.clock()

    async def channel(self) -> Confirmed:
        sold = self._sold(await self.invoice())
        self.lsp.open(sold, height=self.payer.height)
        self.payer.mine()
        assert sold.order.channel is not None
        return Confirmed(
            point=sold.order.channel, sats=CAPACITY, height=self.payer.height
        )

    async def keys(self) -> tuple[str, str]:
        return PAYER_KEY, LSP_KEY

    async def leave(self) -> None:
        self.payer.away = True

    def _sold(self, asked: Asked) -> SoldChannel:
        (found,) = (
            each
            for each in self.lsp.sold.values()
            if each.invoice.request == asked.request
        )
        return found


class RealWorld:
    """The customer's lnd pays over the treasury's, which has a channel to the LSP."""

    def __init__(
        self, harness: TreasuryHarness, lsp: access.LndEndpoint, macaroon: Path
    ) -> None:
        owners = owners_access(harness.customer)
        self._reached = replace(owners, macaroon=macaroon)
        self.payer = LndPayer(self._reached)
        self._owner = Treasury(owners)
        self._lsp = Treasury(owners_access(lsp))
        self._preimages: dict[str, bytes] = {}

    async def invoice(self, *, lives_s: int = 600, keeps: bool = False) -> Asked:
        preimage = secrets.token_bytes(32)
        payment_hash = hashlib.sha256(preimage)
        self._preimages[payment_hash.hexdigest()] = preimage
        wish: dict[str, object] = {
            "value_msat": str(AMOUNT),
            "expiry": str(lives_s),
            "cltv_expiry": str(DELTA),
            "private": True,
        }
        if keeps:
            wish["hash"] = base64.b64encode(payment_hash.digest()).decode()
            made = await self._lsp.call("POST", "/v2/invoices/hodl", wish)
        else:
            wish["r_preimage"] = base64.b64encode(preimage).decode()
            made = await self._lsp.call("POST", "/v1/invoices", wish)
        return Asked(
            request=str(made["payment_request"]), payment_hash=payment_hash.hexdigest()
        )

    async def answer(self, asked: Asked, *, claims: bool) -> None:
        async def is_held() -> bool:
            path = f"/v1/invoice/{asked.payment_hash}"
            return bool((await self._lsp.call("GET", path))["state"] == "ACCEPTED")

        await until(is_held, every_s=0.05)
        preimage = base64.b64encode(self._preimages[asked.payment_hash]).decode()
        payment_hash = base64.b64encode(bytes.fromhex(asked.payment_hash)).decode()
        if claims:
            path, wish = "/v2/invoices/settle", {"preimage": preimage}
        else:
            path, wish = "/v2/invoices/cancel", {"payment_hash": payment_hash}
        await self._lsp.call("POST", path, wish)

    async def expire(self, expires: datetime) -> None:
        await until(lambda: utc_now() > expires, every_s=0.05)

    async def channel(self) -> Confirmed:
        """Return the LSP's channel, which is not the payer's."""
        (found,) = (await self._lsp.call("GET", "/v1/channels"))["channels"]
        txid, _, vout = found["channel_point"].partition(":")
        return Confirmed(
            point=Outpoint(txid, int(vout)),
            sats=Sats(int(found["capacity"])),
            height=int(found["chan_id"]) >> 40,
        )

    async def keys(self) -> tuple[str, str]:
        payer, lsp = [
            (await each.call("GET", "/v1/getinfo"))["identity_pubkey"]
            for each in (self._owner, self._lsp)
        ]
        return payer, lsp

    async def leave(self) -> None:
        await self.payer.close()
        self.payer = LndPayer(replace(self._reached, port=1))

    async def close(self) -> None:
        for each in (self.payer, self._owner, self._lsp):
            await each.close()


@dataclass(frozen=True)
class LspLnd:
    """A third lnd, with a private channel to the treasury, over which it is paid."""

    harness: TreasuryHarness
    reached: access.LndEndpoint

    async def up(self) -> None:
        """Start it, and wait until the customer can pay it."""
        network = access.load(self.harness.home)
        daemon = LndDaemon(
            name="lsp",
            program=self.harness.programs["lnd"],
            folder=self.harness.home / "lsp",
            chain=CHAIN,
            access=self.reached,
            btcd=network.btcd,
        )
        await SupervisingKeeper(daemon).ensure()
        lsp = Treasury(owners_access(self.reached))
        treasury = Treasury(self.harness.treasury_access())
        customer = Treasury(owners_access(self.harness.customer))
        try:
            found = await lsp.call("GET", "/v1/newaddress?type=TAPROOT_PUBKEY")
            await actions.fund(
                self.harness.home, found["address"], 10**7, confirmations=6
            )
            await synced(lsp, self.harness.home)
            key = (await treasury.call("GET", "/v1/getinfo"))["identity_pubkey"]
            whom = {"pubkey": key, "host": network.lnds["treasury"].peer}
            await lsp.call("POST", "/v1/peers", {"addr": whom})
            wish = {
                "node_pubkey_string": key,
                "local_funding_amount": str(CAPACITY),
                "push_sat": str(CAPACITY // 2),
                "private": True,
            }
            await lsp.call("POST", "/v1/channels", wish)
            await actions.mine(self.harness.home, 6)
            await until(lambda: _can_pay(customer, lsp), every_s=0.5)
        finally:
            for each in (lsp, treasury, customer):
                await each.close()

    async def down(self) -> None:
        if running := processes.holder(claim(self.harness.home / "lsp")):
            await processes.stop(running, grace_s=30)


async def _can_pay(payer: Treasury, payee: Treasury) -> bool:
    """Try it, and forget a failure, because of which lnd would not try again."""
    await payer.call("POST", "/v2/router/mc/reset", {})
    made = await payee.call(
        "POST", "/v1/invoices", {"value_msat": str(AMOUNT), "private": True}
    )
    wish: dict[str, object] = {
        "payment_request": made["payment_request"],
        "timeout_seconds": 10,
        "fee_limit_sat": "10",
        "no_inflight_updates": True,
    }
    (answer,) = [e async for e in payer.stream("POST", "/v2/router/send", wish)]
    return bool(answer["status"] == "SUCCEEDED")


@pytest.fixture(scope="module")
def lsp_lnd(treasury: TreasuryHarness) -> Iterator[access.LndEndpoint]:
    rest, grpc, peer = free_ports(3)
    folder = treasury.home / "lsp"
    reached = access_for(folder, CHAIN, rest=rest, grpc=grpc, peer=peer)
    lnd = LspLnd(treasury, reached)
    # In a thread of its own: whoever asks for it is in a loop already.
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(asyncio.run, lnd.up()).result()
            yield reached
        finally:
            thread.submit(asyncio.run, lnd.down()).result()


@pytest.fixture(params=FAKE_AND_LND)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    harness: TreasuryHarness = request.getfixturevalue("treasury")
    macaroon = tmp_path / "buy.macaroon"
    await seller.bake_into(macaroon, harness.customer, BUYING_PERMISSIONS)
    real = RealWorld(harness, request.getfixturevalue("lsp_lnd"), macaroon)
    yield real
    await real.close()


async def decoded(world: World, asked: Asked) -> InnerInvoice:
    found = await world.payer.decode(asked.request)
    assert isinstance(found, InnerInvoice)
    return found


async def begun(world: World, asked: Asked, fee_limit: Sats = ENOUGH) -> None:
    assert await world.payer.pay(asked.request, fee_limit=fee_limit) is None
    payment = await world.payer.payment(asked.payment_hash)
    assert payment.state is not PaidState.NONE


async def ended(world: World, asked: Asked) -> InnerPayment:
    async def is_ended() -> bool:
        payment = await world.payer.payment(asked.payment_hash)
        return payment.state is not PaidState.IN_FLIGHT

    await until(is_ended, every_s=0.05)
    return await world.payer.payment(asked.payment_hash)


def check_paid(payment: InnerPayment, asked: Asked) -> None:
    """Check that it was paid once."""
    assert payment == InnerPayment(
        state=PaidState.SUCCEEDED, preimage=payment.preimage, msat=AMOUNT + ROUTING
    )
    digest = hashlib.sha256(bytes.fromhex(payment.preimage))
    assert digest.hexdigest() == asked.payment_hash


NONE = InnerPayment(state=PaidState.NONE)
IN_FLIGHT = InnerPayment(state=PaidState.IN_FLIGHT)


async def test_an_invoice_is_decoded(world: World) -> None:
    asked = await world.invoice(lives_s=60)
    found = await decoded(world, asked)
    assert (found.request, found.payment_hash) == (asked.request, asked.payment_hash)
    assert (found.msat, found.delta, found.amp) == (AMOUNT, DELTA, False)
    assert found.payee == (await world.keys())[1]
    assert 0 < (found.expires - utc_now()).total_seconds() <= 60


@pytest.mark.parametrize("request_", ["lnbcrt1x", MAINNET])
async def test_what_is_no_invoice_of_this_chain_is_refused(
    world: World, request_: str
) -> None:
    for answer in (
        await world.payer.decode(request_),
        await world.payer.pay(request_, fee_limit=ENOUGH),
    ):
        assert isinstance(answer, WrapRefused)
        assert answer.why


async def test_an_invoice_is_paid_once(world: World) -> None:
    asked = await world.invoice()
    assert await world.payer.payment(asked.payment_hash) == NONE
    before = await world.payer.spendable()
    await begun(world, asked)
    paid = await ended(world, asked)
    check_paid(paid, asked)
    await begun(world, asked)
    assert await world.payer.payment(asked.payment_hash) == paid
    # The reserve for fees of the chain changes with each HTLC, by some hundred sats.
    spent = before - await world.payer.spendable()
    assert AMOUNT // 1_000 <= spent < 2 * AMOUNT // 1_000


async def test_a_payment_in_flight_is_not_paid_again(world: World) -> None:
    asked = await world.invoice(keeps=True)
    for _ in range(2):
        await begun(world, asked)
        assert await world.payer.payment(asked.payment_hash) == IN_FLIGHT
    await world.answer(asked, claims=True)
    check_paid(await ended(world, asked), asked)


async def test_a_payment_that_the_payee_refuses_has_failed(world: World) -> None:
    asked = await world.invoice(keeps=True)
    await begun(world, asked)
    await world.answer(asked, claims=False)
    assert await ended(world, asked) == InnerPayment(
        state=PaidState.FAILED, why="FAILURE_REASON_INCORRECT_PAYMENT_DETAILS"
    )


async def test_a_payment_that_costs_too_much_fails_and_can_be_begun_again(
    world: World,
) -> None:
    asked = await world.invoice()
    await begun(world, asked, TOO_LITTLE)
    assert await ended(world, asked) == InnerPayment(
        state=PaidState.FAILED, why="FAILURE_REASON_NO_ROUTE"
    )
    await begun(world, asked, ENOUGH)
    check_paid(await ended(world, asked), asked)


async def test_an_invoice_that_expired_is_refused(world: World) -> None:
    asked = await world.invoice(lives_s=1)
    await world.expire((await decoded(world, asked)).expires)
    answer = await world.payer.pay(asked.request, fee_limit=ENOUGH)
    assert isinstance(answer, WrapRefused)
    assert "expired" in answer.why
    assert await world.payer.payment(asked.payment_hash) == NONE


async def test_a_refusal_does_not_say_that_nothing_was_paid(world: World) -> None:
    """The invoice has expired, while its payment is in flight."""
    asked = await world.invoice(lives_s=5, keeps=True)
    await begun(world, asked)
    await world.expire((await decoded(world, asked)).expires)
    answer = await world.payer.pay(asked.request, fee_limit=ENOUGH)
    assert isinstance(answer, WrapRefused)
    assert await world.payer.payment(asked.payment_hash) == IN_FLIGHT
    await world.answer(asked, claims=True)
    check_paid(await ended(world, asked), asked)


async def test_an_output_counts_once_a_block_has_it(world: World) -> None:
    channel = await world.channel()
    point, height = channel.point, channel.height
    assert await world.payer.output_sats(point, since=height) == channel.sats
    assert await world.payer.output_sats(point, since=height + 1) is None
    for absent in (
        Outpoint(point.txid, point.vout + 10),
        Outpoint(secrets.token_hex(32), 0),
    ):
        assert await world.payer.output_sats(absent, since=height) is None


async def test_the_payer_has_a_key_and_a_chain(world: World) -> None:
    height = (await world.channel()).height
    node = await world.payer.node()
    assert node.pubkey == (await world.keys())[0]
    assert node.height >= height
    assert node.synced


async def test_a_payer_that_is_away_knows_nothing(world: World) -> None:
    asked = await world.invoice()
    await world.leave()
    payer = world.payer
    for call in (
        payer.node(),
        payer.spendable(),
        payer.decode(asked.request),
        payer.pay(asked.request, fee_limit=ENOUGH),
        payer.payment(asked.payment_hash),
        payer.output_sats(Outpoint("ab" * 32, 0), since=1),
    ):
        with pytest.raises(SellerAway):
            await call
