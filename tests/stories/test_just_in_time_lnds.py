"""Just-in-time channels among lnds: what goes wrong, each time with real daemons.

The treasury's lnd is the payer, the seller's the purse, and a third one the wallet. lnd
takes no payment that is less than its onion says, so the payer knows of the fee: its
onion has for the wallet what is left. The platform can't tell.
"""

import asyncio
import base64
import contextlib
import hashlib
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from leyden.base import processes
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.processes.daemons import claim
from leyden.channels.books.verify import verify
from leyden.channels.direct.jit.offers import JitOffers
from leyden.channels.direct.rules import jit
from leyden.channels.direct.rules.jit import JitOrder, JitStatus
from leyden.channels.payments.treasury import Treasury
from leyden.channels.services import ChannelServices
from leyden.customer.channel_acceptor import accept_from
from leyden.errors import LeydenError
from leyden.lnd.trust import trusting
from leyden.nodes.lnd.client import connect
from leyden.nodes.lnd.states import TlsAddress
from leyden_workshop.devnet import access, purse, wallet
from leyden_workshop.devnet.lnd import LndDaemon, access_for
from leyden_workshop.devnet.supervision import SupervisingKeeper
from tests.channels.contracts.treasuries import owners_access
from tests.ports import free_ports
from tests.programs import built
from tests.stories.stopping import Stop
from tests.stories.test_just_in_time import (
    newest_becomes,
    orders,
    restart_purse,
    selling,
)
from tests.stories.test_ldk_node import CHAIN, Coast, coast_with
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

SIZE = 100_000_000
FINAL, DELTA = 90, jit.CLTV_DELTA  # blocks: of the wallet's HTLC, and of the purse's


@dataclass
class Invoice:
    """What the wallet wants to be paid."""

    payment_hash: bytes
    payment_addr: str
    preimage: bytes = b""


@dataclass
class Harbor:
    """The chain, the payer, the purse and the wallet."""

    coast: Coast
    wallet: access.LndEndpoint
    payer: Treasury
    owner: Treasury  # of the wallet
    purse_key: str
    wallet_key: str
    channels: list[str] = field(default_factory=list)  # from the payer to the purse

    # The wallet.

    async def start_wallet(self) -> None:
        """Start the wallet, or start it again, and connect it."""
        await SupervisingKeeper(
            LndDaemon(
                name="wallet",
                program=built("lnd")["lnd"],
                folder=self.folder,
                chain=CHAIN,
                access=self.wallet,
                btcd=self.coast.network.access.btcd,
            )
        ).ensure()
        async with wallet.opened(self.wallet) as lnd:
            self.wallet_key = await lnd.key()

            async def is_connected() -> bool:
                with contextlib.suppress(LeydenError):
                    await lnd.connect(self.purse_key, at=self.coast.seller.peer)
                    return True
                return False

            await until(is_connected, within_s=60, every_s=0.2)

    @property
    def folder(self) -> Path:
        return self.coast.home / "wallet"

    async def kill_wallet(self) -> None:
        running = processes.holder(claim(self.folder))
        assert running is not None
        await processes.stop(running, grace_s=0.1)

    async def accept(self) -> None:
        """Take channels without confirmations from the purse, for as long as it is."""
        host, _, port = self.wallet.rest.rpartition(":")
        while True:
            with contextlib.suppress(LeydenError, OSError):
                tls = trusting(Path(self.wallet.certificate).read_text())
                macaroon = Path(self.wallet.macaroon).read_bytes().hex()
                async with connect(TlsAddress(host, int(port), host), tls) as lnd:
                    await accept_from(lnd, self.purse_key, macaroon=macaroon)
            await asyncio.sleep(0.2)

    async def invoice(self, order: JitOrder, *, held: bool = False) -> Invoice:
        """Let the wallet ask for what is left of the payment."""
        value = {"value_msat": str(SIZE - order.fee_msat), "cltv_expiry": "80"}
        if held:
            preimage = secrets.token_bytes(32)
            made = await self.owner.call(
                "POST",
                "/v2/invoices/hodl",
                {**value, "hash": base64.b64encode(_digest(preimage)).decode()},
            )
            return Invoice(_digest(preimage), made["payment_addr"], preimage)
        made = await self.owner.call("POST", "/v1/invoices", value)
        return Invoice(base64.b64decode(made["r_hash"]), made["payment_addr"])

    async def keeps(self, invoice: Invoice) -> None:
        """Wait until the wallet holds the payment of its invoice."""
        path = f"/v1/invoice/{invoice.payment_hash.hex()}"

        async def is_held() -> bool:
            return bool((await self.owner.call("GET", path))["state"] == "ACCEPTED")

        await until(is_held, within_s=60, every_s=0.2)

    async def claim(self, invoice: Invoice) -> None:
        """Let the wallet claim what it holds."""
        preimage = base64.b64encode(invoice.preimage).decode()
        await self.owner.call("POST", "/v2/invoices/settle", {"preimage": preimage})

    # The payer.

    async def open_channels(self, count: int) -> None:
        async with wallet.opened(self.coast.treasury) as lnd:
            for _ in range(count):
                await lnd.open_channel(
                    self.purse_key, at=self.coast.seller.peer, sats=3_000_000
                )
                await self.coast.mine(6)

            async def are_active() -> bool:
                found = [c for c in await lnd.channels() if c["active"]]
                self.channels = [str(each["chan_id"]) for each in found]
                return len(found) == count

            await until(are_active, within_s=60, every_s=0.2)

    async def pay(
        self, order: JitOrder, invoice: Invoice, amounts: Sequence[int] = (SIZE,)
    ) -> list[dict[str, Any]]:
        """Pay in these parts, by the payer's channels in turn; return what came."""
        takes = jit.divide(amounts, order.fee_msat)
        assert takes is not None
        info = await self.payer.call("GET", "/v1/getinfo")
        expiry = int(info["block_height"]) + FINAL
        record = {
            "payment_addr": invoice.payment_addr,
            "total_amt_msat": str(SIZE - order.fee_msat),
        }
        attempts = []
        for number, (amount, take) in enumerate(zip(amounts, takes, strict=True)):
            hops = [
                {
                    "chan_id": self.channels[number % len(self.channels)],
                    "pub_key": self.purse_key,
                    "amt_to_forward_msat": str(amount),
                    "expiry": expiry,
                },
                {
                    "chan_id": str(order.scid),
                    "pub_key": self.wallet_key,
                    "amt_to_forward_msat": str(amount - take),
                    "expiry": expiry,
                    "mpp_record": record,
                },
            ]
            route = {
                "total_time_lock": expiry + DELTA,
                "total_amt_msat": str(amount),
                "hops": hops,
            }
            raw = base64.b64encode(invoice.payment_hash).decode()
            attempts.append(
                self.payer.call(
                    "POST",
                    "/v2/router/route/send",
                    {"payment_hash": raw, "route": route},
                    timeout_s=400,
                )
            )
        return list(await asyncio.gather(*attempts))


def _digest(preimage: bytes) -> bytes:
    return hashlib.sha256(preimage).digest()


@asynccontextmanager
async def harbor_with(
    folder: Path,
    *,
    lnd: str = "lnd",
    channels: int = 1,
    options: tuple[tuple[str, str | int], ...] = purse.OPTIONS,
) -> AsyncIterator[Harbor]:
    """Start it all; the payer has so many channels to the purse."""
    async with (
        coast_with(folder, options, lnd=lnd) as coast,
        AsyncExitStack() as stack,
    ):
        await purse.bake(coast.seller, coast.home)
        rest, grpc, peer = free_ports(3)
        wallets = access_for(
            coast.home / "wallet", CHAIN, rest=rest, grpc=grpc, peer=peer
        )
        payer = Treasury(owners_access(coast.treasury))
        stack.push_async_callback(payer.close)
        async with wallet.opened(coast.seller) as its:
            key = await its.key()
        owner = Treasury(owners_access(wallets))
        stack.push_async_callback(owner.close)
        harbor = Harbor(coast, wallets, payer, owner, key, "")
        accepting = asyncio.create_task(harbor.accept())
        try:
            await harbor.start_wallet()
            await harbor.open_channels(channels)
            yield harbor
        finally:
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
            if running := processes.holder(claim(harbor.folder)):
                await processes.stop(running, grace_s=30)


async def buy(channels: ChannelServices, harbor: Harbor) -> JitOrder:
    """Buy, as the wallet would by its messages."""
    assert channels.purse is not None
    assert channels.rules.jit is not None
    offers = JitOffers(channels, channels.purse, channels.rules.jit)

    async def result(method: str, **params: object) -> dict[str, Any]:
        request = {"method": method, "params": params}
        return await offers.result(harbor.wallet_key, request, None)

    (offer,) = (await result("lsps2.get_info"))["opening_fee_params_menu"]
    await result("lsps2.buy", opening_fee_params=offer, payment_size_msat=str(SIZE))
    return (await orders(channels.database))[-1]


async def is_gone(channels: ChannelServices) -> bool:
    """Whether the purse's lnd knows that the wallet is."""
    assert channels.purse is not None
    found = await channels.purse.forwarding.channels()
    return not any(each.order_id and each.active for each in found)


async def prove(channels: ChannelServices) -> None:
    """Each rule holds, also about the purse's channels, which have settled."""
    purse_ = channels.purse
    assert purse_ is not None

    async def has_settled() -> bool:
        return all(each.settled for each in await purse_.forwarding.channels())

    await until(has_settled, within_s=60, every_s=0.2)
    assert await verify(channels.database, purse=purse_) == []


@pytest.mark.parametrize(
    "lnd", ["lnd", pytest.param("lnd v0.21.2-beta", marks=pytest.mark.full)]
)
async def test_a_wallet_is_paid_by_two_channels_after_somebody_probed_it(
    memory_path: Path, sqlite_db: Database, sealer: Sealer, lnd: str
) -> None:
    async with (
        harbor_with(memory_path, lnd=lnd, channels=2) as harbor,
        selling(harbor.coast, sqlite_db, sealer) as channels,
    ):
        order = await buy(channels, harbor)
        invoice = await harbor.invoice(order)
        probe = Invoice(secrets.token_bytes(32), invoice.payment_addr)
        (probed,) = await harbor.pay(order, probe)
        assert probed["failure"]["code"] == "INCORRECT_OR_UNKNOWN_PAYMENT_DETAILS"
        unpaid = await newest_becomes(sqlite_db, JitStatus.UNPAID)
        await prove(channels)

        paid = await harbor.pay(order, invoice, [60_000_000, 40_000_000])
        assert [each["status"] for each in paid] == ["SUCCEEDED"] * 2, paid
        order = await newest_becomes(sqlite_db, JitStatus.EARNED)
        assert order.earned_msat == order.fee_msat
        assert order.channel_point == unpaid.channel_point
        parts = await sqlite_db.reader.jit_orders.parts(order.id)
        earned = [each for each in parts if each.earned_msat]
        assert {each.circuit.chan_id for each in earned} == set(harbor.channels)
        await prove(channels)


@pytest.mark.long
@pytest.mark.parametrize("killed", ["platform", "lnd", "both"])
async def test_whatever_is_killed_at_each_step_the_payment_arrives_once(
    memory_path: Path, sqlite_db: Database, sealer: Sealer, killed: str
) -> None:
    """`held`: by us, while the wallet is away; `kept`: by the wallet.

    An lnd that is killed as it forwards gives the payment back once it is there again,
    and one that is killed as it publishes a funding knows of it from the next block on.
    Then the channel is there for the next payment.
    """
    steps = ("held", "open", "done open", "alias", "answer", "done answer", "kept")
    may_go_back = ("done open", "done answer")
    async with harbor_with(memory_path) as harbor:
        for number, at in enumerate(steps, 1):
            stop = Stop(at)
            async with AsyncExitStack() as first:
                channels = await first.enter_async_context(
                    selling(harbor.coast, sqlite_db, sealer, stop=stop)
                )
                order = await buy(channels, harbor)
                invoice = await harbor.invoice(order, held=at == "kept")
                if at == "held":
                    await harbor.kill_wallet()
                paying = asyncio.create_task(harbor.pay(order, invoice))
                if at == "held":
                    await newest_becomes(sqlite_db, JitStatus.HOLDING)
                elif at == "kept":
                    await harbor.keeps(invoice)
                else:
                    await stop.is_reached()
                if killed != "lnd":
                    await first.aclose()
                if killed != "platform":
                    await restart_purse(harbor.coast)
                await harbor.start_wallet()
                stop.goes_on.set()
                async with AsyncExitStack() as second:
                    if killed != "lnd":
                        channels = await second.enter_async_context(
                            selling(harbor.coast, sqlite_db, sealer)
                        )
                    if at == "kept":
                        await asyncio.sleep(2)
                        assert not paying.done()
                        await harbor.claim(invoice)
                    (paid,) = await paying
                    if at in may_go_back and killed != "platform" and paid["failure"]:
                        assert paid["failure"]["code"] == "TEMPORARY_CHANNEL_FAILURE"
                        await harbor.coast.mine(1)
                        await newest_becomes(sqlite_db, JitStatus.UNPAID)
                        await prove(channels)
                        invoice = await harbor.invoice(order)
                        (paid,) = await harbor.pay(order, invoice)
                    assert paid["status"] == "SUCCEEDED", (at, paid.get("failure"))
                    order = await newest_becomes(sqlite_db, JitStatus.EARNED)
                    assert order.earned_msat == order.fee_msat
                    await prove(channels)
                    assert channels.purse is not None
                    found = await channels.purse.forwarding.channels()
                    assert len([each for each in found if each.order_id]) == number
            await harbor.coast.mine(1)  # the change can be spent


@pytest.mark.long
async def test_without_requireinterceptor_lnd_forwards_what_was_held_without_a_fee(
    memory_path: Path, sqlite_db: Database, sealer: Sealer
) -> None:
    """Why the purse must have that option; here its policy alone prevents a loss."""
    stop = Stop("answer")
    options = tuple(each for each in purse.OPTIONS if each[0] != "requireinterceptor")
    async with harbor_with(memory_path, options=options) as harbor:
        async with selling(harbor.coast, sqlite_db, sealer, stop=stop) as channels:
            order = await buy(channels, harbor)
            invoice = await harbor.invoice(order)
            paying = asyncio.create_task(harbor.pay(order, invoice))
            await stop.is_reached()
        (failed,) = await paying
        # The second one while lnd has not announced its policy to itself yet.
        refusals = {"FEE_INSUFFICIENT", "TEMPORARY_NODE_FAILURE"}
        assert failed["failure"]["code"] in refusals, failed
        async with selling(harbor.coast, sqlite_db, sealer) as channels:
            await newest_becomes(sqlite_db, JitStatus.UNPAID)
            await prove(channels)


@pytest.mark.long
async def test_a_wallet_that_leaves_gets_its_payment_back_or_pays_the_next_time(
    memory_path: Path, sqlite_db: Database, sealer: Sealer
) -> None:
    stop = Stop("answer")
    async with (
        harbor_with(memory_path) as harbor,
        selling(harbor.coast, sqlite_db, sealer, stop=stop) as channels,
    ):
        # Without the wallet, two blocks end the payment, and no channel is opened.
        order = await buy(channels, harbor)
        invoice = await harbor.invoice(order)
        await harbor.kill_wallet()
        paying = asyncio.create_task(harbor.pay(order, invoice))
        await newest_becomes(sqlite_db, JitStatus.HOLDING)
        await harbor.coast.mine(2)
        (failed,) = await paying
        assert failed["failure"]["code"] == "TEMPORARY_CHANNEL_FAILURE"
        await newest_becomes(sqlite_db, JitStatus.SOLD)
        await harbor.start_wallet()

        # It leaves when its channel is active, before its payment is forwarded.
        paying = asyncio.create_task(harbor.pay(order, await harbor.invoice(order)))
        await stop.is_reached()
        await harbor.kill_wallet()
        await until(lambda: is_gone(channels), within_s=60, every_s=0.2)
        stop.goes_on.set()
        (failed,) = await paying
        assert failed["status"] == "FAILED", failed
        order = await newest_becomes(sqlite_db, JitStatus.UNPAID)
        await prove(channels)
        await harbor.start_wallet()
        (paid,) = await harbor.pay(order, await harbor.invoice(order))
        assert paid["status"] == "SUCCEEDED", paid
        order = await newest_becomes(sqlite_db, JitStatus.EARNED)
        assert order.earned_msat == order.fee_msat
        await prove(channels)


@pytest.mark.long
async def test_a_channel_is_closed_by_force_with_a_payment_in_it(
    memory_path: Path, sqlite_db: Database, sealer: Sealer
) -> None:
    """The wallet keeps it and is gone: the payer has it back, and the books hold."""
    async with harbor_with(memory_path) as harbor:
        async with selling(harbor.coast, sqlite_db, sealer) as channels:
            order = await buy(channels, harbor)
            invoice = await harbor.invoice(order, held=True)
            paying = asyncio.create_task(harbor.pay(order, invoice))
            await newest_becomes(sqlite_db, JitStatus.RESUMING)

            await harbor.keeps(invoice)
            await harbor.kill_wallet()
            await harbor.coast.mine(FINAL + 1)
            async with asyncio.timeout(180):
                while not paying.done():
                    await harbor.coast.mine(1)
                    await asyncio.sleep(0.2)  # lnd sweeps
            (failed,) = await paying
            assert failed["status"] == "FAILED", failed
            order = await newest_becomes(sqlite_db, JitStatus.UNPAID)
            assert order.funding_fee is not None
            await prove(channels)
        # While nobody intercepts, lnd forwards nothing, and says so at once.
        (failed,) = await harbor.pay(order, invoice)
        assert failed["failure"]["code"] == "TEMPORARY_CHANNEL_FAILURE"
