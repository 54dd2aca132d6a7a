"""Channels to nodes that the order names, with everything real."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from leyden.base import processes
from leyden.base.processes.daemons import claim
from leyden.errors import Away, Conflict, Refused
from leyden_workshop.devnet import access, trading, wallet
from leyden_workshop.devnet.calls import calling
from leyden_workshop.devnet.hosted import owned
from leyden_workshop.devnet.lnd import LndDaemon, access_for
from leyden_workshop.devnet.supervision import SupervisingKeeper
from tests.ports import free_ports
from tests.stories.platform import RunningPlatform
from tests.stories.test_first_channel import _STEP

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]


async def played(platform: RunningPlatform, *words: str) -> dict[str, Any]:
    """Play the story, and hold what it tells against what the platform says."""
    printed = await platform.run("dev", "scenario", "direct-channel", *words, "--json")
    lines = printed[: printed.index("{")].splitlines()
    assert [line for line in lines if not _STEP.match(line)] == [], "nothing of a log's"
    story: dict[str, Any] = json.loads(printed[printed.index("{") :])
    wish = {"order_id": story["order_id"]}
    order: dict[str, Any] = await platform.api(
        *("POST", "/flow/status", wish), key=platform.scenarios().api_key
    )
    assert order["status"] == "filled"
    assert order["sidecar_ticket"] == ""
    assert order["channel_point"] == story["channel_point"]
    assert order["peer"] == story["remote_pubkey"]
    assert order["seller_uri"].startswith(f"{order['peer']}@")
    assert "the books are right" in await platform.run("verify")
    return order | story


async def test_a_strangers_node_gets_a_channel(
    trading_platform: RunningPlatform,
) -> None:
    story = await played(trading_platform)
    network = access.load(trading_platform.home)
    async with wallet.opened(network.lnds["customer"]) as customer:
        assert story["node"] == await customer.key()
        (channel,) = [
            each
            for each in await customer.channels()
            if each["channel_point"] == story["channel_point"]
        ]
    assert channel["private"]
    assert int(channel["capacity"]) == 1_000_000
    await extended(trading_platform, story)


async def extended(platform: RunningPlatform, order: dict[str, Any]) -> None:
    """Keep the channel: from credit, or for an invoice."""
    key, path = platform.scenarios().api_key, f"/flow/orders/{order['order_id']}"
    made = await platform.api("POST", f"{path}/extend", {}, key=key)
    if made["lightning_invoice"]:
        await trading.pay(platform.home, made["lightning_invoice"])

    async def is_longer() -> bool:
        found = await platform.api("GET", path, key=key)
        return bool(found["lease_ends_block"] == order["lease_ends_block"] + 2_016)

    await platform.until("the lease is extended", is_longer)
    assert "the books are right" in await platform.run("verify")


@pytest.mark.long  # making a node and its wallet takes a minute on a busy machine
async def test_a_hosted_node_gets_a_channel(trading_platform: RunningPlatform) -> None:
    story = await played(trading_platform, "--hosted", "--capacity", "2000000")
    assert story["capacity"] == 2_000_000
    assert story["node_id"]


@pytest.mark.long  # making a node and its wallet takes a minute on a busy machine
async def test_a_hosted_node_is_named_on_the_command_line(
    trading_platform: RunningPlatform, tmp_path: Path
) -> None:
    """Its key is asked of the node itself, through the gateway."""
    platform = trading_platform
    before = json.loads(await platform.run("seller", "--json"))
    async with calling(platform.home) as call, owned(platform.home, call) as node:
        key = await node.key()
        macaroon = tmp_path / "admin.macaroon"
        macaroon.write_bytes(bytes.fromhex(node.macaroon))
        made = json.loads(
            await platform.run(
                *("channels", "order", "400000", "--for", node.node_id, "--json"),
                *("--macaroon-file", str(macaroon)),
            )
        )
    assert (made["node"], made["node_id"]) == (key, node.node_id)
    after = json.loads(await platform.run("seller", "--json"))
    assert after["coins"] == before["coins"] - 1
    assert after["reserved"] - before["reserved"] == before["free"] - after["free"]
    assert after["uri"] in await platform.run("seller")
    await platform.api("POST", "/flow/cancel", {"order_id": made["order_id"]})
    assert (
        json.loads(await platform.run("seller", "--json"))["coins"] == before["coins"]
    )


class Order:
    """An order for the customer's own node, and its payment."""

    def __init__(self, platform: RunningPlatform, wish: dict[str, Any]) -> None:
        self.town, self.wish = platform, wish

    async def placed(self) -> "Order":
        await self.town.spend_credit()
        made = await self.town.api("POST", "/flow/create", self.wish)
        self.id: str = made["order_id"]
        invoice = made["lightning_invoice"]
        self.paying = asyncio.ensure_future(trading.pay(self.town.home, invoice))
        return self

    async def becomes(self, status: str, *, seconds: float = 60) -> dict[str, Any]:
        found: dict[str, Any] = {}

        async def is_reached() -> bool:
            nonlocal found
            wish = {"order_id": self.id}
            found = await self.town.api("POST", "/flow/status", wish)
            return bool(found["status"] == status)

        what = f"the order becomes {status}"
        await self.town.until(what, is_reached, seconds=seconds)
        return found

    async def went_back(self) -> None:
        with pytest.raises(Conflict, match="the payment failed"):
            await self.paying


async def customers(platform: RunningPlatform, **wish: object) -> Order:
    """Order a channel for the customer's node, and begin to pay."""
    lnd = access.load(platform.home).lnds["customer"]
    async with wallet.opened(lnd) as customer:
        key = await customer.key()
    return await Order(
        platform, {"capacity": 300_000, "node": f"{key}@{lnd.peer}", **wish}
    ).placed()


async def channels_of(platform: RunningPlatform, order_id: str) -> list[str]:
    """Return the seller's channels with this memo, pending ones too."""
    async with wallet.opened(access.load(platform.home).lnds["seller"]) as seller:
        pending = await seller.call("GET", "/v1/channels/pending")
        waiting = [each["channel"] for each in pending["pending_open_channels"]]
        every = [*waiting, *await seller.channels()]
    return [each["channel_point"] for each in every if each["memo"] == order_id]


async def seller_answers(platform: RunningPlatform) -> bool:
    with contextlib.suppress(Away, Refused):
        async with wallet.opened(access.load(platform.home).lnds["seller"]) as seller:
            return await seller.state() == "SERVER_ACTIVE"
    return False


async def check(platform: RunningPlatform) -> None:
    await platform.run("dev", "mine", "6")
    assert "the books are right" in await platform.run("verify")


async def test_a_node_that_is_away_gets_its_payment_back(
    trading_platform: RunningPlatform,
) -> None:
    stranger = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
    wish = {"capacity": 300_000, "node": stranger}
    order = await Order(trading_platform, wish).placed()
    found = await order.becomes("created")
    assert found["seller_uri"]
    await trading_platform.api("POST", "/flow/cancel", {"order_id": order.id})
    await order.went_back()
    assert await channels_of(trading_platform, order.id) == []
    await check(trading_platform)


async def test_a_node_that_refuses_gets_its_payment_back(
    trading_platform: RunningPlatform,
) -> None:
    """lnd takes one pending channel of a peer; the first one is announced."""
    first = await customers(trading_platform, announce=True)
    found = await first.becomes("filled")
    await first.paying
    second = await customers(trading_platform)
    await second.becomes("failed")
    await second.went_back()
    assert await channels_of(trading_platform, second.id) == []
    await check(trading_platform)
    lnd = access.load(trading_platform.home).lnds["customer"]

    async def is_announced() -> bool:
        async with wallet.opened(lnd) as customer:
            return [
                each["private"]
                for each in await customer.channels()
                if each["channel_point"] == found["channel_point"]
            ] == [False]

    await trading_platform.until("the channel is open and announced", is_announced)


@contextlib.asynccontextmanager
async def stranger(
    platform: RunningPlatform,
    program: Path,
    folder: Path,
    *options: tuple[str, str | int],
) -> AsyncIterator[access.LndEndpoint]:
    """Run another node on the town's chain."""
    network = access.load(platform.home)
    rest, grpc, peer = free_ports(3)
    lnd = access_for(folder, network.chain, rest=rest, grpc=grpc, peer=peer)
    daemon = LndDaemon(
        name="stranger",
        program=program,
        folder=folder,
        chain=network.chain,
        access=lnd,
        btcd=network.btcd,
        options=options,
    )
    try:
        await SupervisingKeeper(daemon).ensure()
        yield lnd
    finally:
        if running := processes.holder(claim(folder)):
            await processes.stop(running, grace_s=30)


async def test_a_node_that_refuses_by_size_gets_smaller_channels(
    trading_platform: RunningPlatform, real_lnd: Path, memory_path: Path
) -> None:
    platform, folder = trading_platform, memory_path / "stranger"
    async with stranger(platform, real_lnd, folder, ("maxchansize", 400_000)) as lnd:
        async with wallet.opened(lnd) as node:
            key = await node.key()

            async def is_synced() -> bool:
                return (await node.height())[1]

            await platform.until("the node is synced", is_synced)
        wish = {"node": f"{key}@{lnd.peer}"}
        large = await Order(platform, {"capacity": 500_000, **wish}).placed()
        await large.becomes("failed")
        await large.went_back()
        assert await channels_of(platform, large.id) == []
        small = await Order(platform, {"capacity": 300_000, **wish}).placed()
        await small.becomes("filled")
        await small.paying
        await check(platform)


@pytest.mark.long
@pytest.mark.parametrize("who", ["seller", "platform"])
async def test_whoever_dies_one_channel_comes_of_one_payment(
    trading_platform: RunningPlatform, who: str
) -> None:
    platform = trading_platform
    for pause_s in (0.0, 0.05, 0.1, 0.2, 0.4):
        order = await customers(platform)
        await asyncio.sleep(pause_s)
        if who == "platform":
            await platform.kill()
            await platform.up()
        else:
            running = processes.holder(claim(access.folder(platform.home) / "seller"))
            assert running is not None
            processes.signal(running, signal.SIGKILL)
        await order.becomes("filled")
        await order.paying
        await platform.until("the seller is there", partial(seller_answers, platform))
        assert len(await channels_of(platform, order.id)) == 1
        await check(platform)
