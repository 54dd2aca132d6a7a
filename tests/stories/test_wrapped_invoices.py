"""A plain lnd, as ZEUS has one inside, is paid by a wrapped invoice, everything real.

On regtest: the treasury's lnd is the payer, the seller's is the purse.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import shlex
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from leyden.app.loops import channel_queues
from leyden.base import processes
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.processes.daemons import claim
from leyden.base.rules.times import utc_now
from leyden.base.tasks.worker import Worker
from leyden.channels.books.verify import verify
from leyden.channels.direct.api.wrapped import WrappedOverHttp
from leyden.channels.direct.base import Purse
from leyden.channels.direct.lnd_forwarding import LndForwarding
from leyden.channels.direct.messages import LndMessages
from leyden.channels.direct.rules.jit import JitStatus
from leyden.channels.services import JIT, ChannelServices, ChannelSettings, JitSettings
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import SOURCES
from leyden.customer.channel_acceptor import accept_from
from leyden.lnd.trust import trusting
from leyden.nodes.lnd.client import connect
from leyden.nodes.lnd.states import TlsAddress
from leyden.values import replace
from leyden_workshop.devnet import access, purse, wallet
from leyden_workshop.devnet.calls import calling
from leyden_workshop.devnet.hosted import owned
from leyden_workshop.devnet.lnd import LndDaemon, access_for
from leyden_workshop.devnet.supervision import SupervisingKeeper
from tests.base.api.conftest import Caller
from tests.channels.contracts.treasuries import owners_access
from tests.fakes.payments import FakePayments
from tests.ports import free_port, free_ports
from tests.programs import built, needs
from tests.reaper import in_memory
from tests.stories.platform import LEYDEN, RunningPlatform
from tests.stories.stopping import Stop, StoppingSeller, StoppingWrapping
from tests.stories.test_browser import alice
from tests.stories.test_just_in_time import coast as coast  # noqa: PLC0414  a fixture
from tests.stories.test_just_in_time import (
    local_balance,
    newest_becomes,
    orders,
    pay,
    restart_purse,
)
from tests.stories.test_ldk_node import CHAIN, Coast
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(1_200)]

SATS = 100_000
NEWEST = "lnd v0.21.2-beta"
T = TypeVar("T")


@dataclass
class Phone:
    """A wallet: a plain lnd without coins or channels."""

    lnd: access.LndEndpoint

    async def call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        async with wallet.opened(self.lnd) as opened:
            return await opened.call(method, path, body)

    async def connect(self, key: str, at: str) -> None:
        async with wallet.opened(self.lnd) as opened:
            await opened.connect(key, at=at)

    async def disconnect(self, key: str) -> None:
        await self.call("DELETE", f"/v1/peers/{key}")

    async def invoice(self, sats: int) -> str:
        async with wallet.opened(self.lnd) as opened:
            return await opened.invoice(sats)

    async def received(self) -> int:
        async with wallet.opened(self.lnd) as opened:
            return sum(int(each["local_balance"]) for each in await opened.channels())


@pytest.fixture
async def phone(coast: Coast, request: pytest.FixtureRequest) -> AsyncIterator[Phone]:
    program = getattr(request, "param", "lnd")
    folder = coast.home / "phone"
    rest, grpc, peer = free_ports(3)
    lnd = access_for(folder, CHAIN, rest=rest, grpc=grpc, peer=peer)
    await SupervisingKeeper(
        LndDaemon(
            name="phone",
            program=built(program)[program],
            folder=folder,
            chain=CHAIN,
            access=lnd,
            btcd=coast.network.access.btcd,
        )
    ).ensure()
    try:
        yield Phone(lnd)
    finally:
        if running := processes.holder(claim(folder)):
            await processes.stop(running, grace_s=30)


@asynccontextmanager
async def accepting(phone: Phone, peer: str) -> AsyncIterator[None]:
    """Let the phone take zero-conf channels of the purse, as ZEUS does."""
    host, _, port = phone.lnd.rest.rpartition(":")
    tls = trusting(Path(phone.lnd.certificate).read_text())
    macaroon = Path(phone.lnd.macaroon).read_bytes().hex()
    ready = asyncio.Event()
    async with connect(TlsAddress(host, int(port), host), tls) as owner:
        accepts = asyncio.create_task(
            accept_from(owner, peer, macaroon=macaroon, ready=ready.set)
        )
        await ready.wait()
        await asyncio.sleep(0.5)
        yield
        accepts.cancel()
        await asyncio.gather(accepts, return_exceptions=True)


@asynccontextmanager
async def selling(
    coast: Coast,
    db: Database,
    sealer: Sealer,
    *,
    stop: Stop | None = None,
) -> AsyncIterator[Caller]:
    """Wrap invoices, as the platform does; yield what wallets call."""
    own = replace(owners_access(coast.seller), macaroon=purse.macaroon(coast.home))
    stop = stop or Stop()
    sold = Purse(
        seller=StoppingSeller(own, stop),
        messages=LndMessages(own),
        forwarding=LndForwarding(own),
        wrapping=StoppingWrapping(own, stop),
    )
    channels = ChannelServices(
        database=db,
        sealer=sealer,
        payments=FakePayments(),
        sources=SOURCES,
        market=SimulatedMarket(),
        purse=sold,
        clock=utc_now,
        rules=ChannelSettings(jit=JitSettings(wraps_invoices=True)),
    )
    async with db.transaction() as tx:
        await tx.tasks.put(JIT, "all", due=utc_now())
    queues = [each for each in channel_queues(channels) if each.kind == JIT]
    running = asyncio.create_task(Worker(db, queues, clock=utc_now).run())
    try:
        yield Caller(WrappedOverHttp(channels), None, "")  # type: ignore[arg-type]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        for each in (sold.seller, sold.messages, sold.forwarding, sold.wrapping):
            assert each is not None
            await each.close()


async def asked(caller: Caller, what: str, body: object = None) -> dict[str, Any]:
    raw = json.dumps(body).encode() if body is not None else b""
    verb = "GET" if body is None else "POST"
    answer = await caller.call(verb, f"/api/v1/{what}", raw)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


async def key_of(phone: Phone) -> str:
    return str((await phone.call("GET", "/v1/getinfo"))["identity_pubkey"])


async def connected(coast: Coast, phone: Phone, caller: Caller) -> str:
    """Connect to the purse as the platform says; return its key."""
    info = await asked(caller, "info")
    await phone.connect(info["pubkey"], coast.seller.peer)
    return str(info["pubkey"])


async def wrapped(
    caller: Caller,
    phone: Phone,
    make: Callable[[int], Awaitable[str]],
    *,
    value: int = SATS,
) -> tuple[str, int]:
    """Have an invoice wrapped as ZEUS does; return it, and the fee in sat."""
    wish = {"amount_msat": value * 1_000, "pubkey": await key_of(phone)}
    fee = await asked(caller, "fee", wish)
    sats = fee["fee_amount_msat"] // 1_000
    body = {
        "bolt11": await make(value - sats),
        "fee_id": fee["id"],
        "simpleTaproot": False,
    }
    return str((await asked(caller, "proposal", body))["jit_bolt11"]), sats


@pytest.mark.parametrize(
    ("coast", "phone"),
    [("lnd", "lnd"), pytest.param(NEWEST, NEWEST, marks=pytest.mark.full)],
    indirect=True,
)
async def test_a_wallet_is_paid_without_a_channel_and_then_without_a_fee(
    coast: Coast, phone: Phone, sqlite_db: Database, sealer: Sealer
) -> None:
    async with selling(coast, sqlite_db, sealer) as caller:
        key = await connected(coast, phone, caller)
        async with accepting(phone, key):
            request, fee = await wrapped(caller, phone, phone.invoice)
            assert fee > 0
            paid = await pay(coast, request)
            assert paid["status"] == "SUCCEEDED", paid
            assert int(paid["value_sat"]) == SATS
            order = await newest_becomes(sqlite_db, JitStatus.EARNED)
            assert order.earned_msat == order.fee_msat == fee * 1_000

            async def is_received() -> bool:
                return await phone.received() == SATS - fee

            await until(is_received, within_s=60)

            # It can receive by itself now: its own invoice, and no fee of ours.
            async def is_known() -> bool:
                async with wallet.opened(phone.lnd) as opened:
                    return await opened.has_hints(await opened.invoice(1_000))

            await until(is_known, within_s=60)
            wish = {"amount_msat": 50_000_000, "pubkey": await key_of(phone)}
            assert (await asked(caller, "fee", wish))["fee_amount_msat"] == 0
            own = await phone.invoice(50_000)
            answer = await asked(caller, "proposal", {"bolt11": own})
            assert answer == {"jit_bolt11": own}
            paid = await pay(coast, own)
            assert paid["status"] == "SUCCEEDED", paid
            assert int(paid["fee_msat"]) < 2_000
        assert await verify(sqlite_db) == []
        assert len(await orders(sqlite_db)) == 1


async def test_a_wallet_that_accepts_no_such_channel_costs_nothing(
    coast: Coast, phone: Phone, sqlite_db: Database, sealer: Sealer
) -> None:
    async with selling(coast, sqlite_db, sealer) as caller:
        await connected(coast, phone, caller)
        request, _ = await wrapped(caller, phone, phone.invoice)
        paid = await pay(coast, request)
        assert paid["status"] == "FAILED", paid
        order = await newest_becomes(sqlite_db, JitStatus.EXPIRED)
        assert order.coins == ()
        assert await verify(sqlite_db) == []


@pytest.mark.parametrize("killed", ["platform", "lnd", "both"])
async def test_whatever_is_killed_at_each_step_the_payment_arrives_once(
    coast: Coast, phone: Phone, sqlite_db: Database, sealer: Sealer, killed: str
) -> None:
    """`held`: by the purse, while the phone takes no channel yet."""
    received, value = 0, SATS
    steps = ("held", "open", "done open", "pay", "done pay", "settle", "done settle")
    for number, at in enumerate(steps, 1):
        stop = Stop(at)
        async with AsyncExitStack() as first:
            caller = await first.enter_async_context(
                selling(coast, sqlite_db, sealer, stop=stop)
            )
            key = await connected(coast, phone, caller)
            request, fee = await wrapped(caller, phone, phone.invoice, value=value)
            if at == "held":
                await phone.disconnect(key)
            async with accepting(phone, key):
                paying = asyncio.create_task(pay(coast, request))
                if at == "held":
                    await newest_becomes(sqlite_db, JitStatus.HOLDING)
                else:
                    await stop.is_reached()
                if killed != "lnd":
                    await first.aclose()
                if killed != "platform":
                    await restart_purse(coast)
                await phone.connect(key, coast.seller.peer)
                stop.goes_on.set()
                async with AsyncExitStack() as second:
                    if killed != "lnd":
                        await second.enter_async_context(
                            selling(coast, sqlite_db, sealer)
                        )
                    paid = await paying
                    assert paid["status"] == "SUCCEEDED", (at, paid)
                    order = await newest_becomes(sqlite_db, JitStatus.EARNED)
                    assert order.earned_msat == fee * 1_000
                    received += value - fee
                    await _has(phone, received)
                    assert await verify(sqlite_db) == []
                    async with wallet.opened(phone.lnd) as opened:
                        assert len(await opened.channels()) == number
        value += SATS // 2  # more than the channels of before can carry
        await coast.mine(1)  # the change can be spent


async def _has(phone: Phone, sats: int) -> None:
    async def has() -> bool:
        return await phone.received() >= sats - 10

    await until(has, within_s=60)


@pytest.mark.parametrize("claims", [True, False])
async def test_a_payment_that_a_wallet_keeps_is_never_given_back_before_it_decides(
    coast: Coast, phone: Phone, sqlite_db: Database, sealer: Sealer, *, claims: bool
) -> None:
    """The platform and lnd end while the wallet holds what it was paid."""
    preimage = secrets.token_bytes(32)
    digest = hashlib.sha256(preimage).digest()

    async def kept(sats: int) -> str:
        wish = {"hash": base64.b64encode(digest).decode(), "value": str(sats)}
        made = await phone.call("POST", "/v2/invoices/hodl", wish)
        return str(made["payment_request"])

    async def state() -> str:
        found = await phone.call("GET", f"/v1/invoice/{digest.hex()}")
        return str(found["state"])

    async with selling(coast, sqlite_db, sealer) as caller:
        key = await connected(coast, phone, caller)
        async with accepting(phone, key):
            request, fee = await wrapped(caller, phone, kept)
            paying = asyncio.create_task(pay(coast, request))

            async def is_kept() -> bool:
                return await state() == "ACCEPTED"

            await until(is_kept, within_s=60)
        before = await local_balance(coast)
    await restart_purse(coast)
    await phone.connect(key, coast.seller.peer)
    async with selling(coast, sqlite_db, sealer):
        await asyncio.sleep(5)
        assert not paying.done()
        assert (await orders(sqlite_db))[-1].status is JitStatus.RESUMING
        if claims:
            body = {"preimage": base64.b64encode(preimage).decode()}
            await phone.call("POST", "/v2/invoices/settle", body)
            assert (await paying)["status"] == "SUCCEEDED"
            order = await newest_becomes(sqlite_db, JitStatus.EARNED)
            assert order.earned_msat == fee * 1_000
            assert await local_balance(coast) >= before
        else:
            body = {"payment_hash": base64.b64encode(digest).decode()}
            await phone.call("POST", "/v2/invoices/cancel", body)
            assert (await paying)["status"] == "FAILED"
            order = await newest_becomes(sqlite_db, JitStatus.UNPAID)
            assert order.earned_msat == 0
        assert await verify(sqlite_db) == []


# A node that the platform hosts.


@pytest.fixture
async def platform() -> AsyncIterator[RunningPlatform]:
    """A platform with a purse that wraps invoices."""
    built("lnd", "btcd", "poold", "auctioneer")
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        Path(folder).chmod(0o755)
        platform = RunningPlatform(Path(folder), market=True)
        platform.environment |= {
            "LEYDEN_DEVNET_JIT": "true",
            "LEYDEN_JIT_WRAPPED_INVOICES": "true",
            **{
                f"LEYDEN_DEVNET_PURSE_{each}_PORT": str(free_port())
                for each in ("PEER", "GRPC", "REST")
            },
        }
        try:
            await platform.up()
            await platform.opens()
            yield platform
        finally:
            await platform.down()


async def test_a_hosted_node_without_a_channel_is_paid_by_one_command(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    macaroon = await accepting_zero_conf(platform, tmp_path)
    async with calling(platform.home) as call, owned(platform.home, call) as node:
        words = ["wallet", "receive", node.node_id, str(SATS), "--just-in-time"]
        shown = await paid_by(platform, [*words, "--macaroon-file", str(macaroon)])

        async def is_in_its_channel() -> bool:
            (channel,) = await node.channels()
            assert channel["zero_conf"]
            return bool(int(channel["local_balance"]) == shown["paid_sats"])

        await platform.until("it is in the node's channel", is_in_its_channel)
    state = json.loads(await platform.run("jit", "--json"))
    assert (state["earned"], state["missing"]) == (1, [])
    await platform.run("verify")


@needs("chromium", "certutil")
async def test_a_hosted_node_is_paid_by_the_line_that_its_page_shows(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    """The page has the fee first, and sees the payment that the command waited for."""
    macaroon = await accepting_zero_conf(platform, tmp_path)
    async with (
        alice(platform, tmp_path / "alice") as window,
        calling(platform.home) as call,
        owned(platform.home, call) as node,
    ):
        page = window.page
        team, root = (
            platform.facts[each] for each in ("organization_id", "dashboard_url")
        )
        await page.goto(f"{root}{team}/nodes/{node.node_id}/wallet/receive")
        await page.click("summary:has-text('not in the vault')")
        await window.type(password="none is needed", pasted=node.macaroon)
        await window.press("Open vault")
        await window.see("No channel of this node can receive yet")
        await window.type(amount=str(SATS), memo="two coffees")
        await window.press("Show the fee")
        await window.see("Your node receives")
        received = await page.inner_text("#opening-received")
        line = await page.inner_text("#opening-command")
        program, *words = shlex.split(line)
        assert program == "leyden"
        shown = await paid_by(platform, [*words, "--macaroon-file", str(macaroon)])
        assert f"{shown['received_sats']:,} sat" == received
        assert shown["memo"] == "two coffees"
        await page.wait_for_selector("#no-inbound", state="hidden", timeout=30_000)
    await platform.run("verify")


async def accepting_zero_conf(platform: RunningPlatform, folder: Path) -> Path:
    """Let the hosted node take such channels; return a file of its macaroon."""
    macaroon = folder / "admin.macaroon"
    async with calling(platform.home) as call, owned(platform.home, call) as node:
        macaroon.write_bytes(bytes.fromhex(node.macaroon))
        nodes = f"/organizations/{platform.facts['organization_id']}/nodes"
        await platform.api(
            "POST",
            f"{nodes}/{node.node_id}/settings",
            {"optionscidalias": True, "zeroconf": True},
        )
    return macaroon


async def paid_by(platform: RunningPlatform, words: Sequence[str]) -> dict[str, Any]:
    """Pay the invoice that a command shows; return what it prints in the end."""
    command = await asyncio.create_subprocess_exec(
        *(str(LEYDEN), *words, "--json"),
        env=platform.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert command.stdout is not None
    async with asyncio.timeout(60):
        offered = json.loads(await command.stdout.readline())
    await platform.run("dev", "pay", offered["invoice"])
    async with asyncio.timeout(60):
        output, errors = await command.communicate()
    assert command.returncode == 0, errors.decode()
    shown: dict[str, Any] = json.loads(output)
    assert shown["paid_sats"] == shown["received_sats"] == SATS - shown["fee_sats"]
    assert shown["fee_sats"] > 0
    return shown
