"""LDK Node 0.7.0, which nobody here wrote, buys a channel and is paid through it.

On regtest, for LDK knows no simnet: a treasury, a seller, and LDK with a channel of its
own to pay with.
"""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from leyden.app.loops import channel_queues
from leyden.base import processes
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.processes.daemons import claim
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.base.tasks.worker import Worker
from leyden.channels.books.verify import verify
from leyden.channels.checkout import listen
from leyden.channels.direct.lnd import LndSeller
from leyden.channels.direct.messages import LndMessages
from leyden.channels.direct.rules.openings import LSPS
from leyden.channels.payments.lnd import LndPayments
from leyden.channels.services import (
    LSPS1,
    ChannelServices,
    ChannelSettings,
    Lsps1Settings,
)
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import SOURCES
from leyden.nodes.lnd.connection import LndAccess
from leyden.values import replace
from leyden_workshop.devnet import access, actions, wallet
from leyden_workshop.devnet.chain import connected
from leyden_workshop.devnet.layout import DaemonPorts
from leyden_workshop.devnet.lnd import LndDaemon, access_for
from leyden_workshop.devnet.network import PrivateNetwork, stop
from leyden_workshop.devnet.seller import bake
from leyden_workshop.devnet.seller import macaroon as sellers_macaroon
from leyden_workshop.devnet.supervision import SupervisingKeeper
from leyden_workshop.devnet.treasury import macaroon as treasurys_macaroon
from tests import cargo
from tests.channels.contracts.treasuries import owners_access
from tests.ports import free_ports
from tests.programs import built
from tests.stories.bitcoind import bitcoind

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(1_800)]

CHAIN = "regtest"
PINNED = Path(__file__).parent.parent / "ldk-node-0.7.0"
CAPACITY = 600_000
_COIN = 5_000_000


@dataclass
class Ldk:
    """A running LDK Node, by its lines."""

    process: asyncio.subprocess.Process
    lines: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    events: list[str] = field(default_factory=list)

    async def read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            word, _, rest = line.decode().strip().partition(" ")
            if word == "event":
                self.events.append(rest)
            else:
                self.lines.put_nowait(rest)

    async def do(self, *words: object) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{' '.join(map(str, words))}\n".encode())
        return await self.answer()

    async def answer(self) -> str:
        async with asyncio.timeout(120):
            return await self.lines.get()

    async def happens(self, event: str) -> None:
        async with asyncio.timeout(120):
            while event not in self.events:
                await asyncio.sleep(0.1)
        self.events.remove(event)


@dataclass
class Coast:
    """The chain, the treasury's lnd and the seller's."""

    home: Path
    network: PrivateNetwork
    seller: access.LndEndpoint

    @property
    def treasury(self) -> access.LndEndpoint:
        return self.network.access.lnds["treasury"]

    async def mine(self, blocks: int) -> None:
        await actions.mine(self.home, blocks)
        height = await actions.height(self.home)
        for each in (self.treasury, self.seller):
            async with wallet.opened(each) as lnd:
                async with asyncio.timeout(60):
                    while await lnd.height() != (height, True):
                        await asyncio.sleep(0.1)


BITS = tuple((f"protocol.custom-{each}", LSPS) for each in ("init", "nodeann"))


@pytest.fixture
async def coast(memory_path: Path) -> AsyncIterator[Coast]:
    async with coast_with(memory_path, BITS) as coast:
        yield coast


@asynccontextmanager
async def coast_with(
    memory_path: Path, options: tuple[tuple[str, str | int], ...], *, lnd: str = "lnd"
) -> AsyncIterator[Coast]:
    """Start the chain, the treasury, and the seller's lnd with these options."""
    programs = built("btcd", "lnd", lnd)
    btcd, peer, grpc, rest, *own = free_ports(7)
    ports = DaemonPorts(
        btcd=btcd, treasury_peer=peer, treasury_grpc=grpc, treasury_rest=rest
    )
    home = memory_path
    network = PrivateNetwork(home, programs=programs, ports=ports, chain=CHAIN)
    folder = home / "seller"
    seller = access_for(folder, CHAIN, rest=own[0], grpc=own[1], peer=own[2])
    try:
        await network.start(lambda _: None)
        await SupervisingKeeper(
            LndDaemon(
                name="seller",
                program=programs[lnd],
                folder=folder,
                chain=CHAIN,
                access=seller,
                btcd=network.access.btcd,
                options=options,
            )
        ).ensure()
        coast = Coast(home, network, seller)
        await bake(seller, home)
        async with wallet.opened(seller) as its:
            for _ in range(3):
                address = await its.address()
                await actions.fund(home, address, _COIN, confirmations=0)
        await coast.mine(6)
        yield coast
    finally:
        if running := processes.holder(claim(folder)):
            await processes.stop(running, grace_s=30)
        await stop(home)


@asynccontextmanager
async def selling(
    coast: Coast, db: Database, sealer: Sealer
) -> AsyncIterator[ChannelServices]:
    """Sell over LSPS1, as the platform does."""

    def preimage(order_id: str, sats: Sats) -> bytes:
        return hashlib.sha256(f"a secret {order_id} {sats}".encode()).digest()

    def of(lnd: access.LndEndpoint, macaroon: Path) -> LndAccess:
        return replace(owners_access(lnd), macaroon=macaroon)

    own = of(coast.seller, sellers_macaroon(coast.home))
    treasury = of(coast.treasury, treasurys_macaroon(coast.home))
    channels = ChannelServices(
        database=db,
        sealer=sealer,
        payments=LndPayments(treasury, preimage=preimage),
        sources=SOURCES,
        market=SimulatedMarket(),
        seller=LndSeller(own),
        messages=LndMessages(own),
        clock=utc_now,
        rules=ChannelSettings(lsps1=Lsps1Settings(organization="the LSP")),
    )
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id="a", name="the LSP", created=utc_now()))
        await tx.tasks.put(LSPS1, "all", due=utc_now())
    worker = Worker(db, channel_queues(channels), clock=utc_now)
    running = [asyncio.create_task(worker.run()), asyncio.create_task(listen(channels))]
    try:
        yield channels
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for each in (channels.payments, channels.seller, channels.messages):
            assert each is not None
            await each.close()


@asynccontextmanager
async def ldk_node(
    coast: Coast, folder: Path, *, source: str = "lsps1"
) -> AsyncIterator[Ldk]:
    """Run LDK Node, with the seller as its LSP."""
    program = await cargo.built(PINNED, "ldk-buyer")
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(bitcoind(coast.network.access.btcd))
        async with wallet.opened(coast.seller) as seller:
            key = await seller.key()
        process = await asyncio.create_subprocess_exec(
            *(program, str(folder), str(port), key, coast.seller.peer, source),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        )
        ldk = Ldk(process)
        reading = asyncio.create_task(ldk.read())
        try:
            await ldk.answer()  # it is ready
            yield ldk
        finally:
            process.kill()
            await process.wait()
            await reading


async def has_a_channel(coast: Coast, ldk: Ldk) -> None:
    """Send LDK coins, and let it open a channel to the treasury to pay with."""
    await actions.fund(coast.home, await ldk.do("address"), 1_500_000, confirmations=0)
    await coast.mine(3)
    assert int(await ldk.do("sync")) > 1_000_000
    async with wallet.opened(coast.treasury) as treasury:
        key = await treasury.key()
    assert await ldk.do("open", key, coast.treasury.peer, 500_000) == "true"
    # LDK publishes once the treasury has signed: before that blocks confirm nothing.
    async with connected(coast.network.access.btcd) as chain, asyncio.timeout(60):
        while not await chain.call("getrawmempool"):
            await asyncio.sleep(0.1)
    await coast.mine(6)
    await ldk.do("sync")
    await ldk.happens("channel_ready")


async def order(ldk: Ldk, *, blocks: int) -> list[str]:
    """Order a channel; LDK asks once, and what is sent while nobody listens is lost."""
    for _ in range(5):
        found = await ldk.do("order", CAPACITY, blocks)
        if found != "refused LiquidityRequestFailed":
            break
    return found.split()


async def test_ldk_node_buys_a_channel_and_is_paid_through_it(
    coast: Coast, sqlite_db: Database, sealer: Sealer, tmp_path: Path
) -> None:
    async with (
        selling(coast, sqlite_db, sealer) as channels,
        ldk_node(coast, tmp_path) as ldk,
    ):
        await has_a_channel(coast, ldk)
        # An error first: after one that it could not parse LDK would ignore us.
        assert (await ldk.do("order", CAPACITY, 99_999)).startswith("refused")
        order_id, invoice = await order(ldk, blocks=4_320)
        assert await ldk.do("pay", invoice) == "true"
        await ldk.happens("payment_successful")
        async with asyncio.timeout(60):
            while (await ldk.do("status", order_id)).lower() != "paid true":
                await asyncio.sleep(0.1)  # it is booked after the wallet heard
        usable = ""
        async with asyncio.timeout(60):
            while not usable.startswith("true"):
                usable = await ldk.do("usable", CAPACITY)
        assert usable == "true Some(0)", "at once, without a confirmation"
        paid = await ldk.do("receive", 50_000_000)
        answer: Mapping[str, Any] = {"status": "FAILED"}
        async with wallet.opened(coast.seller) as seller, asyncio.timeout(60):
            while answer["status"] == "FAILED":  # lnd's side is usable a moment later
                await asyncio.sleep(0.1)
                answer = await seller.pay(paid)
        assert answer["status"] == "SUCCEEDED", answer
        await ldk.happens("payment_received")
        found = await sqlite_db.reader.orders.get(order_id)
        assert found.status == "filled"
        assert found.quote.channel.lease_duration_blocks == 4_320
        assert await verify(sqlite_db, channels.payments) == []
        assert utc_now() - found.created < timedelta(minutes=20)
