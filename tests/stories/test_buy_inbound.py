"""Inbound channels, bought in every way there is, with everything real."""

import asyncio
import json
import os
import re
import shlex
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from leyden.base import processes
from leyden.base.daemons.build import default_cache
from leyden.base.processes.daemons import claim
from leyden_workshop.devnet import (
    access,
    actions,
    overview,
    receiving,
    trader,
    trading,
    wallet,
)
from leyden_workshop.devnet.calls import calling
from leyden_workshop.devnet.hosted import Hosted, hosted
from tests.programs import built
from tests.stories.platform import LEYDEN, Refused, RunningPlatform
from tests.stories.test_receiving import receives_from_afar

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(500),  # the first one brings everything up
    pytest.mark.asyncio(loop_scope="session"),
]
CAPACITY = 500_000
NOBODY_SELLS = {"bps": 1}  # for so little
# As dear as a channel can be, with as much in it: nine of them empty the provider.
DEAREST = {"capacity": 16_700_000, "self_chan_balance": 16_700_000, "bps": 10_000}
SOLD_OUT = "503 Channels are sold out at present; try again later."
DOCS = Path(__file__).parents[2] / "docs"
TICKETS = (DOCS / "customers" / "tickets.md").read_text()
SELLING = (DOCS / "operators" / "sell-channels.md").read_text()


class Purchase:
    """One order, from both sides."""

    def __init__(self, platform: RunningPlatform, order: dict[str, Any]) -> None:
        self.town = platform
        self.order = order

    @classmethod
    async def made(cls, platform: RunningPlatform, **wish: int) -> "Purchase":
        await platform.opens()
        wish = {"capacity": CAPACITY, **wish}
        return cls(platform, await platform.api("POST", "/flow/create", wish))

    async def status(self) -> str:
        wish = {"order_id": self.order["order_id"]}
        self.order |= await self.town.api("POST", "/flow/status", wish)
        return str(self.order["status"])

    async def becomes(self, wanted: str, *, seconds: float = 100) -> None:
        async def is_reached() -> bool:
            return await self.status() == wanted

        await self.town.until(f"the order is {wanted}", is_reached, seconds=seconds)

    async def pay(self) -> None:
        """Pay over Lightning, and wait for the ticket."""
        await trading.pay(self.town.home, self.order["lightning_invoice"])
        await self.becomes("created")

    async def left_by_the_auction(self) -> bool:
        """Whether the credit there is may be what the auction left, and no more."""
        return 0 < await self.town.credit() < int(self.order["pool_fee"])

    async def register(self) -> None:
        await trading.register(self.town.home, self.order["sidecar_ticket"])

    async def cancel(self) -> dict[str, Any]:
        wish = {"order_id": self.order["order_id"]}
        answer: dict[str, Any] = await self.town.api("POST", "/flow/cancel", wish)
        return answer


async def proved(platform: RunningPlatform) -> None:
    assert "the books are right" in await platform.run("verify")


async def test_it_is_paid_on_the_chain(trading_platform: RunningPlatform) -> None:
    await trading_platform.opens()
    await trading_platform.spend_credit()
    bought = await Purchase.made(trading_platform)
    due = bought.order["amount_due"]
    await trading.send(trading_platform.home, bought.order["onchain_address"], due)
    await actions.mine(trading_platform.home, 1)
    await bought.becomes("created")
    await bought.register()
    await bought.becomes("filled")
    await proved(trading_platform)


async def test_credit_pays_and_the_answer_carries_the_ticket(
    trading_platform: RunningPlatform,
) -> None:
    await trading_platform.opens()
    await trading_platform.run(
        *("orgs", "credit", "correct", "--kind", "credit", "--amount", "50000"),
        *("--organization", trading_platform.facts["organization_id"]),
        *("--reason", "a present"),
    )
    bought = await Purchase.made(trading_platform)
    assert bought.order["sidecar_ticket"].startswith("sidecar1")
    assert bought.order["lightning_invoice"] == ""
    await bought.register()
    await bought.becomes("filled")
    await proved(trading_platform)
    await trading_platform.spend_credit()


async def test_a_ticket_nobody_registered_is_cancelled_for_credit(
    trading_platform: RunningPlatform,
) -> None:
    await trading_platform.spend_credit()
    bought = await Purchase.made(trading_platform)
    due = bought.order["amount_due"]
    await bought.pay()
    cancelled = await bought.cancel()
    assert cancelled["credit_refund"] == due
    assert await bought.cancel() == cancelled
    assert await trading_platform.credit() == due
    await bought.register()  # in vain: poold at the other end does not respond
    assert (await bought.cancel())["credit_refund"] == due
    assert await bought.status() == "cancelled"
    assert (await overview.status(trading_platform.home))["bids"] == []
    await proved(trading_platform)
    await trading_platform.spend_credit()


async def test_a_submitted_order_is_cancelled_with_its_bid(
    trading_platform: RunningPlatform,
) -> None:
    await trading_platform.spend_credit()
    bought = await Purchase.made(trading_platform, **NOBODY_SELLS)
    due = bought.order["amount_due"]
    await bought.pay()
    await bought.register()
    await bought.becomes("submitted", seconds=30)
    assert len(bought.order["order_nonce"]) == 64
    assert (await bought.cancel())["credit_refund"] == due
    assert (await overview.status(trading_platform.home))["bids"] == []
    await proved(trading_platform)
    await trading_platform.spend_credit()


async def test_a_cancel_against_a_batch_is_a_credit_or_a_channel(
    trading_platform: RunningPlatform,
) -> None:
    await trading_platform.spend_credit()
    bought = await Purchase.made(trading_platform)
    await bought.pay()
    await bought.register()
    await bought.becomes("submitted", seconds=30)
    batch = asyncio.create_task(trading.tick(trading_platform.home))
    answer = await until_known(bought)
    await batch
    if answer == "cancelled":
        assert await trading_platform.credit() == bought.order["total_fee"]
    else:
        assert answer == "409"
        await bought.becomes("filled")
        assert await bought.left_by_the_auction()
    await proved(trading_platform)
    await trading_platform.spend_credit()


async def until_known(bought: Purchase) -> str:
    """Cancel until the answer is a yes or a no."""
    async with asyncio.timeout(60):
        while True:
            try:
                return str((await bought.cancel())["status"])
            except Refused as refused:
                if refused.status != 503:
                    return str(refused.status)
            await asyncio.sleep(0.2)


@pytest.mark.parametrize(
    "name",
    [
        "auctioneer",
        pytest.param("provider", marks=pytest.mark.long),
        pytest.param("treasury", marks=pytest.mark.long),
    ],
)
async def test_a_daemon_that_is_killed_goes_on(
    trading_platform: RunningPlatform, name: str
) -> None:
    await trading_platform.spend_credit()
    bought = await Purchase.made(trading_platform)
    await bought.pay()
    folder = access.folder(trading_platform.home) / name
    running = processes.holder(claim(folder))
    assert running is not None
    processes.signal(running, signal.SIGKILL)
    await processes.exited(running)
    await trading_platform.opens()
    await bought.register()
    await bought.becomes("filled")
    await proved(trading_platform)


@pytest.mark.long
async def test_a_corporate_account_pays_later(
    trading_platform: RunningPlatform,
) -> None:
    await trading_platform.spend_credit()
    whose = ("--organization", trading_platform.facts["organization_id"])
    await trading_platform.run("orgs", "credit", "open", *whose, "--limit", "100000")
    bought = await Purchase.made(trading_platform)
    assert bought.order["sidecar_ticket"].startswith("sidecar1")
    await bought.register()
    await bought.becomes("filled")
    owed = -int((await trading_platform.api("GET", "/flow/balance"))["balance"])
    left = bought.order["total_fee"] - owed
    assert 0 < left < bought.order["pool_fee"]  # lowers the bill
    assert await trading_platform.credit() == 0
    second = await Purchase.made(trading_platform)
    assert (await second.cancel())["credit_refund"] == 0
    assert -int((await trading_platform.api("GET", "/flow/balance"))["balance"]) == owed
    await trading_platform.run("orgs", "credit", "close", *whose)
    await trading_platform.run(
        *("orgs", "credit", "correct", *whose, "--kind", "settled"),
        *("--amount", str(owed), "--reason", "paid by hand"),
    )
    await proved(trading_platform)


@pytest.mark.long
async def test_nothing_is_sold_beyond_what_the_provider_has(
    trading_platform: RunningPlatform,
) -> None:
    """Tickets that nobody registered count: poold sets nothing aside for them."""
    platform = trading_platform
    await platform.spend_credit()
    await platform.run(
        *("orgs", "credit", "correct", "--kind", "credit", "--amount", "400000000"),
        *("--organization", platform.facts["organization_id"], "--reason", "a present"),
    )
    bought = [await Purchase.made(platform, **DEAREST)]
    with pytest.raises(Refused) as refused:
        while len(bought) < 12:
            order = await platform.api("POST", "/flow/create", DEAREST)
            bought.append(Purchase(platform, order))
    assert str(refused.value) == SOLD_OUT
    assert 7 <= len(bought) <= 9
    small = await Purchase.made(platform)  # there is still room for a small one
    for each in (small, *bought):
        assert each.order["sidecar_ticket"].startswith("sidecar1")
        assert (await each.cancel())["status"] == "cancelled"
    again = await Purchase.made(platform, **DEAREST)
    await again.cancel()
    assert await platform.credit() == 400_000_000
    await proved(platform)
    await platform.spend_credit()


async def test_of_two_who_register_a_ticket_one_gets_the_channel(
    trading_platform: RunningPlatform,
) -> None:
    await trading_platform.spend_credit()
    bought = await Purchase.made(trading_platform, capacity=600_000)
    await bought.pay()
    await bought.register()
    network = access.load(trading_platform.home)
    async with trader.connect(network.pools["asker-pool"]) as other:
        await other.register(bought.order["sidecar_ticket"])
    await bought.becomes("filled")

    async def is_reached() -> bool:
        async with wallet.opened(network.lnds["customer"]) as customer:
            sizes = [each["capacity"] for each in await customer.channels()]
        return sizes.count("600000") == 1

    await trading_platform.until("the first one has the channel", is_reached)
    await proved(trading_platform)


async def test_a_platform_that_dies_at_every_step_goes_on(
    trading_platform: RunningPlatform,
) -> None:
    platform = trading_platform
    await platform.spend_credit()
    bought = await Purchase.made(platform, **NOBODY_SELLS)
    await platform.kill()
    paying = asyncio.create_task(
        trading.pay(platform.home, bought.order["lightning_invoice"])
    )
    await platform.up()
    await bought.becomes("created")  # paid while nobody listened
    await paying
    await platform.kill()
    await bought.register()  # and registered
    await platform.up()
    await bought.becomes("submitted")
    await platform.kill()
    await platform.up()
    assert await bought.status() == "submitted"
    due = bought.order["amount_due"]
    assert (await bought.cancel())["credit_refund"] == due
    await proved(platform)
    await platform.spend_credit()


async def test_a_platform_that_dies_while_its_ticket_is_made_makes_another(
    trading_platform: RunningPlatform,
) -> None:
    """Whether poold made the first one nobody knows: nobody has seen it."""
    platform = trading_platform
    await platform.spend_credit()
    bought = await Purchase.made(platform)
    provider = processes.holder(claim(access.folder(platform.home) / "provider"))
    assert provider is not None
    processes.signal(provider, signal.SIGSTOP)
    try:
        paying = asyncio.create_task(
            trading.pay(platform.home, bought.order["lightning_invoice"])
        )
        await bought.becomes("creating", seconds=30)
        await platform.kill()
    finally:
        processes.signal(provider, signal.SIGCONT)
    await platform.up()
    await bought.becomes("created")
    await paying
    await bought.register()
    await bought.becomes("filled")
    assert await bought.left_by_the_auction()
    await proved(platform)


async def test_an_operator_keeps_the_account_by_the_commands_of_the_page(
    trading_platform: RunningPlatform,
) -> None:
    platform = trading_platform
    answer = re.findall(
        r"^leyden (pool (?:open|status|deposit).*)$", SELLING, re.MULTILINE
    )
    open_, status, deposit = (shlex.split(line) for line in answer)
    await platform.opens()
    before = json.loads(await platform.run(*status, "--json"))
    opened = json.loads(await platform.run(*open_, "--json"))
    assert (opened["state"], opened["sats"]) == ("pending_open", 10_000_000)

    async def deposited() -> bool:
        # It has to be open: not while it waits for the blocks after a batch.
        await actions.mine(platform.home, 6)
        try:
            await platform.run(*deposit)
        except AssertionError:
            return False
        return True

    await platform.until("more is deposited", deposited)

    async def is_reached() -> bool:
        await actions.mine(platform.home, 6)
        now = json.loads(await platform.run(*status, "--json"))
        return bool(
            now["sats"] == before["sats"] + 5_000_000 and now["state"] == "open"
        )

    await platform.until("it is there", is_reached)
    await platform.opens()
    await proved(platform)


@pytest.mark.parametrize(
    "version", ["v0.20.2-beta", pytest.param("v0.21.2-beta", marks=pytest.mark.long)]
)
async def test_a_hosted_node_gets_its_channel_and_receives_through_it(
    trading_platform: RunningPlatform, version: str, tmp_path: Path
) -> None:
    """By the commands that a buyer is told to use."""
    await trading_platform.spend_credit()
    built(f"lnd {version}")
    bought = await Purchase.made(trading_platform, capacity=800_000)
    await bought.pay()
    programs = await installed(tmp_path)
    async with (
        calling(trading_platform.home) as call,
        hosted(
            trading_platform.home, call, program=programs["poold"], version=version
        ) as buyer,
    ):
        answer = re.findall(r"^pool (sidecar .+)$", TICKETS, re.MULTILINE)
        register, list_ = (shlex.split(line) for line in answer)
        assert register.pop() == "sidecar1..."
        tell = Pool(programs["pool"], buyer.pool)
        await tell(*register, bought.order["sidecar_ticket"])
        await bought.becomes("filled")
        assert '"completed"' in await tell(*list_)
        await trading_platform.until("the channel is active", lambda: active(buyer))
        channel = next(
            each for each in await buyer.channels() if each["capacity"] == "800000"
        )
        assert not channel["private"]
        await receiving.receive(trading_platform.home, buyer, channel)
        await trading_platform.run("dev", "pay", await buyer.invoice(5_000))
        await receives_from_afar(trading_platform, buyer, payer="seller")
    await proved(trading_platform)


async def installed(home: Path) -> dict[str, Path]:
    """Install poold and its command as buyers are told to."""
    built("poold", "pool")
    (answer,) = re.findall(
        r"^```sh\n(leyden daemons .+?)^```$",
        TICKETS,
        re.DOTALL | re.MULTILINE,
    )
    environment = {
        "HOME": str(home),
        "PATH": f"{LEYDEN.parent}:{os.environ['PATH']}",
        "LEYDEN_CACHE": str(default_cache(os.environ)),
    }
    command = await asyncio.create_subprocess_exec(
        *("sh", "-euc", answer),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await command.communicate()
    assert command.returncode == 0, output.decode()
    return {name: home / ".local" / "bin" / name for name in ("poold", "pool")}


@dataclass(frozen=True)
class Pool:
    """The command that comes with poold."""

    program: Path
    pool: access.Pool

    async def __call__(self, *words: str) -> str:
        folder = Path(self.pool.certificate).parent
        command = await asyncio.create_subprocess_exec(
            self.program,
            *("--network", folder.name, "--basedir", folder.parent),
            *("--rpcserver", self.pool.grpc, *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await command.communicate()
        assert command.returncode == 0, output.decode()
        return output.decode()


async def active(buyer: Hosted) -> bool:
    return any(
        each["capacity"] == "800000" and each["active"]
        for each in await buyer.channels()
    )
