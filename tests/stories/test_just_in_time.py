"""LDK Node 0.7.0 is paid before it has a channel, through a plain lnd.

On regtest: the treasury's lnd is the payer, the seller's is the purse.
"""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from leyden.app.loops import channel_queues
from leyden.base import processes
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.processes.daemons import claim
from leyden.base.rules.times import Clock, utc_now
from leyden.base.tasks.worker import Worker
from leyden.channels.books.verify import verify
from leyden.channels.direct.base import Purse
from leyden.channels.direct.lnd_forwarding import LndForwarding
from leyden.channels.direct.lnd_unpublished import LndUnpublished
from leyden.channels.direct.messages import LndMessages
from leyden.channels.direct.rules import jit
from leyden.channels.direct.rules.jit import JitOrder, JitStatus
from leyden.channels.payments.treasury import Treasury
from leyden.channels.rules import ledger
from leyden.channels.services import JIT, ChannelServices, ChannelSettings, JitSettings
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import SOURCES
from leyden.nodes.lnd.connection import LndAccess
from leyden.values import replace
from leyden_workshop.devnet import purse, wallet
from leyden_workshop.devnet.lnd import LndDaemon
from leyden_workshop.devnet.supervision import SupervisingKeeper
from tests.channels.contracts.treasuries import owners_access
from tests.fakes.payments import FakePayments
from tests.programs import built
from tests.stories.stopping import Stop, StoppingForwarding, StoppingSeller
from tests.stories.test_ldk_node import CHAIN, Coast, Ldk, coast_with, ldk_node
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(2_400)]

SIZE = 100_000_000


@pytest.fixture
async def coast(
    memory_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Coast]:
    lnd = getattr(request, "param", "lnd")
    async with coast_with_purse(memory_path, lnd=lnd) as coast:
        yield coast


@asynccontextmanager
async def coast_with_purse(
    memory_path: Path, *, lnd: str = "lnd"
) -> AsyncIterator[Coast]:
    """Start it all, with lnds of a version; the payer has a channel to the purse."""
    async with coast_with(memory_path, purse.OPTIONS, lnd=lnd) as coast:
        await purse.bake(coast.seller, coast.home)
        async with wallet.opened(coast.seller) as seller:
            key = await seller.key()
        async with wallet.opened(coast.treasury) as payer:
            await payer.open_channel(key, at=coast.seller.peer, sats=5_000_000)
            await coast.mine(6)

            async def is_open() -> bool:
                if not any(each["active"] for each in await payer.channels()):
                    return False
                return await payer.has_route(key, 100_000)

            await until(is_open)
        yield coast


@asynccontextmanager
async def selling(
    coast: Coast,
    db: Database,
    sealer: Sealer,
    *,
    clock: Clock = utc_now,
    stop: Stop | None = None,
    over: Callable[[LndAccess], LndForwarding] | None = None,
    unpublished: Callable[[LndAccess], LndUnpublished] = LndUnpublished,
    rules: JitSettings | None = None,
) -> AsyncIterator[ChannelServices]:
    """Sell just-in-time channels, as the platform does."""
    own = replace(owners_access(coast.seller), macaroon=purse.macaroon(coast.home))
    stop = stop or Stop()
    channels = ChannelServices(
        database=db,
        sealer=sealer,
        payments=FakePayments(),
        sources=SOURCES,
        market=SimulatedMarket(),
        purse=Purse(
            seller=StoppingSeller(own, stop),
            messages=LndMessages(own),
            forwarding=over(own) if over else StoppingForwarding(own, stop),
            unpublished=unpublished(own),
        ),
        clock=clock,
        rules=ChannelSettings(jit=rules or JitSettings()),
    )
    async with db.transaction() as tx:
        await tx.tasks.put(JIT, "all", due=utc_now())
    queues = [each for each in channel_queues(channels) if each.kind == JIT]
    running = asyncio.create_task(Worker(db, queues, clock=utc_now).run())
    try:
        yield channels
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        own_lnd = channels.purse
        assert own_lnd is not None
        assert own_lnd.unpublished is not None
        for each in (
            own_lnd.seller,
            own_lnd.messages,
            own_lnd.forwarding,
            own_lnd.unpublished,
        ):
            await each.close()


async def invoice(ldk: Ldk, *words: object) -> str:
    """Let LDK buy a channel id; what it sends while nobody listens is lost."""
    for _ in range(10):
        found = await ldk.do("jit", SIZE, *words)
        if not found.startswith("refused"):
            return found
    raise AssertionError(found)


async def pay(coast: Coast, request: str, **more: object) -> dict[str, Any]:
    """Let the payer pay; return lnd's last word."""
    payer = Treasury(owners_access(coast.treasury))
    wish = {
        "payment_request": request,
        "timeout_seconds": 60,
        "fee_limit_sat": "100",
        "no_inflight_updates": True,
        **more,
    }
    last: dict[str, Any] = {}
    try:
        await payer.call("POST", "/v2/router/mc/reset", {})
        async for update in payer.stream("POST", "/v2/router/send", wish):
            last = update
    finally:
        await payer.close()
    return last


async def orders(db: Database) -> list[JitOrder]:
    found = await db.reader.jit_orders.in_states(list(JitStatus))
    return sorted(found, key=lambda each: each.created)


async def newest_becomes(db: Database, status: JitStatus) -> JitOrder:
    async def is_so() -> bool:
        return (await orders(db))[-1].status is status

    try:
        await until(is_so, within_s=60, every_s=0.1)
    except TimeoutError:
        raise AssertionError(await orders(db)) from None
    return (await orders(db))[-1]


async def local_balance(coast: Coast) -> int:
    async with wallet.opened(coast.seller) as lnd:
        return sum(int(each["local_balance"]) for each in await lnd.channels())


async def _has(coast: Coast, sats: int) -> None:
    """Wait until both ends have signed what the payer knows already."""

    async def has() -> bool:
        return await local_balance(coast) >= sats

    await until(has, within_s=60)


async def test_a_wallet_without_a_channel_is_paid(
    coast: Coast, sqlite_db: Database, sealer: Sealer, tmp_path: Path
) -> None:
    async with selling(coast, sqlite_db, sealer) as channels:
        async with ldk_node(coast, tmp_path / "one", source="lsps2") as ldk:
            paid = await pay(coast, await invoice(ldk))
            assert paid["status"] == "SUCCEEDED", paid
            await ldk.happens("payment_received")
            order = await newest_becomes(sqlite_db, JitStatus.EARNED)
            assert order.earned_msat == order.fee_msat
            # A second payment over the channel, without a fee.
            await asyncio.sleep(2)  # until LDK knows the channel's terms
            paid = await pay(coast, await ldk.do("receive", 15_000_000))
            assert paid["status"] == "SUCCEEDED", paid
            assert int(paid["fee_msat"]) < 2_000
            await ldk.happens("payment_received")
        await coast.mine(1)  # the change of the first can be spent
        async with ldk_node(coast, tmp_path / "two", source="lsps2") as ldk:
            request = await invoice(ldk)
            # The node is away: the payer has it back, and pays when it is there.
            assert await ldk.do("disconnect") == "true"
            paying = asyncio.create_task(
                pay(coast, request, max_shard_size_msat="30000000", max_parts=4)
            )
            await newest_becomes(sqlite_db, JitStatus.HOLDING)
            assert await ldk.do("connect") == "true"
            paid = await paying
            assert paid["status"] == "SUCCEEDED", paid
            assert len([h for h in paid["htlcs"] if h["status"] == "SUCCEEDED"]) == 4
            await ldk.happens("payment_received")
            order = await newest_becomes(sqlite_db, JitStatus.EARNED)
            parts = await sqlite_db.reader.jit_orders.parts(order.id)
            assert len(parts) == 4
            assert order.earned_msat == order.fee_msat
        await coast.mine(1)
        strict = ldk_node(coast, tmp_path / "three", source="lsps2-with-reserve")
        async with strict as ldk:
            paid = await pay(coast, await invoice(ldk))
            assert paid["status"] == "FAILED", "it rejects the channel"
            order = await newest_becomes(sqlite_db, JitStatus.SOLD)
            assert order.coins == ()
        assert await verify(sqlite_db, purse=channels.purse) == []
        sums = await sqlite_db.reader.ledger.sums()
        earned = sum(each.earned_msat for each in await orders(sqlite_db)) // 1_000
        assert sums[ledger.EARNED] == earned


async def test_a_payment_that_the_wallet_has_is_never_failed(
    coast: Coast, sqlite_db: Database, sealer: Sealer, tmp_path: Path
) -> None:
    """The platform and lnd end while the wallet holds what was forwarded to it."""
    preimage = secrets.token_bytes(32)
    payment_hash = hashlib.sha256(preimage).hexdigest()
    async with ldk_node(coast, tmp_path / "one", source="lsps2") as ldk:
        async with selling(coast, sqlite_db, sealer):
            request = await invoice(ldk, payment_hash)
            paying = asyncio.create_task(pay(coast, request))
            await ldk.happens("payment_claimable")
            order = await newest_becomes(sqlite_db, JitStatus.RESUMING)
        before = await local_balance(coast)
        await restart_purse(coast)
        async with selling(coast, sqlite_db, sealer) as channels:
            await asyncio.sleep(5)  # lnd asks again about what the wallet has
            assert await ldk.do("connect") == "true"
            assert not paying.done()
            assert (await orders(sqlite_db))[-1].status is JitStatus.RESUMING
            amount = SIZE - order.fee_msat
            assert await ldk.do("claim", payment_hash, preimage.hex(), amount) == "true"
            paid = await paying
            assert paid["status"] == "SUCCEEDED", paid
            order = await newest_becomes(sqlite_db, JitStatus.EARNED)
            assert order.earned_msat == order.fee_msat
            await _has(coast, before + order.fee_msat // 1_000)
            assert await verify(sqlite_db, purse=channels.purse) == []


async def test_whatever_is_killed_the_payment_arrives_once(
    coast: Coast, sqlite_db: Database, sealer: Sealer, tmp_path: Path
) -> None:
    async with ldk_node(coast, tmp_path / "one", source="lsps2") as ldk:
        # The platform is killed once it stored that it forwards, before lnd knows.
        stop = Stop("answer")
        async with selling(coast, sqlite_db, sealer, stop=stop):
            paying = asyncio.create_task(pay(coast, await invoice(ldk)))
            await stop.is_reached()
            assert (await orders(sqlite_db))[-1].status is JitStatus.RESUMING
        assert not paying.done()
        async with selling(coast, sqlite_db, sealer) as channels:
            assert (await paying)["status"] == "SUCCEEDED"
            order = await newest_becomes(sqlite_db, JitStatus.EARNED)
            assert order.earned_msat == order.fee_msat
            await coast.mine(1)  # its change can be spent
            # lnd is killed while it holds a payment.
            request = await invoice(ldk)
            assert await ldk.do("disconnect") == "true"
            paying = asyncio.create_task(pay(coast, request))
            await newest_becomes(sqlite_db, JitStatus.HOLDING)
            await restart_purse(coast)
            assert await ldk.do("connect") == "true"
            assert (await paying)["status"] == "SUCCEEDED"
            order = await newest_becomes(sqlite_db, JitStatus.EARNED)
            assert order.earned_msat == order.fee_msat
            assert await verify(sqlite_db, purse=channels.purse) == []
    async with wallet.opened(coast.seller) as lnd:
        assert len(await lnd.channels()) == 1 + 2  # the payer's, and one for each order


async def test_a_payment_that_no_wallet_takes_goes_back(
    coast: Coast, sqlite_db: Database, sealer: Sealer, tmp_path: Path
) -> None:
    passed = timedelta(0)
    async with (
        selling(coast, sqlite_db, sealer, clock=lambda: utc_now() + passed) as channels,
        ldk_node(coast, tmp_path / "one", source="lsps2") as ldk,
    ):
        # The wallet stays away.
        request = await invoice(ldk)
        assert await ldk.do("disconnect") == "true"
        paying = asyncio.create_task(pay(coast, request, max_parts=1))
        await newest_becomes(sqlite_db, JitStatus.HOLDING)
        assert not paying.done()
        passed = jit.HOLD
        assert (await paying)["status"] == "FAILED"
        order = await newest_becomes(sqlite_db, JitStatus.SOLD)
        assert order.coins == ()
        # It has the payment, and decides nothing until it must.
        assert await ldk.do("connect") == "true"
        before = await local_balance(coast)
        request = await invoice(ldk, secrets.token_hex(32))
        paying = asyncio.create_task(pay(coast, request, max_parts=1))
        await ldk.happens("payment_claimable")
        async with asyncio.timeout(120):
            while not paying.done():
                await coast.mine(1)
        assert (await paying)["status"] == "FAILED"
        order = await newest_becomes(sqlite_db, JitStatus.UNPAID)
        assert order.earned_msat == 0
        assert order.funding_fee is not None
        # What is in the channel is ours, less what its commitment costs.
        assert await local_balance(coast) >= before + order.capacity - 5_000
        assert await verify(sqlite_db, purse=channels.purse) == []


async def restart_purse(coast: Coast, *, lnd: str = "lnd") -> None:
    """Kill the purse's lnd, and start it again."""
    folder = coast.home / "seller"
    running = processes.holder(claim(folder))
    assert running is not None
    await processes.stop(running, grace_s=0.1)
    await SupervisingKeeper(
        LndDaemon(
            name="seller",
            program=built(lnd)[lnd],
            folder=folder,
            chain=CHAIN,
            access=coast.seller,
            btcd=coast.network.access.btcd,
            options=purse.OPTIONS,
        )
    ).ensure()
