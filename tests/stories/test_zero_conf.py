"""Channels that are usable before their first confirmation, everything real."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from leyden.customer.channel_acceptor import accept_from
from leyden.lnd.trust import trusting
from leyden.nodes.lnd.client import connect
from leyden.nodes.lnd.states import TlsAddress
from leyden_workshop.devnet import access, overview, wallet
from leyden_workshop.devnet.calls import calling
from leyden_workshop.devnet.hosted import owned
from tests.stories.platform import Refused, RunningPlatform
from tests.stories.test_direct_channel import Order, channels_of, check

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

CAPACITY, PAID = 300_000, 50_000


@asynccontextmanager
async def accepting(platform: RunningPlatform, peer: str) -> AsyncIterator[None]:
    """Let the customer's node take such channels from a peer, as its owner does."""
    lnd = access.load(platform.home).lnds["customer"]
    host, _, port = lnd.rest.rpartition(":")
    tls = trusting(Path(lnd.certificate).read_text())
    macaroon = Path(lnd.macaroon).read_bytes().hex()
    ready = asyncio.Event()
    async with connect(TlsAddress(host, int(port), host), tls) as owner:
        accepts = asyncio.create_task(
            accept_from(owner, peer, macaroon=macaroon, ready=ready.set)
        )
        await ready.wait()
        yield
        assert not accepts.done()
        accepts.cancel()
        await asyncio.gather(accepts, return_exceptions=True)


async def keys(platform: RunningPlatform) -> tuple[str, str]:
    """Return the keys of the seller and the customer."""
    found = access.load(platform.home).lnds
    async with (
        wallet.opened(found["seller"]) as seller,
        wallet.opened(found["customer"]) as customer,
    ):
        return await seller.key(), await customer.key()


async def order_of(platform: RunningPlatform) -> Order:
    _, key = await keys(platform)
    at = access.load(platform.home).lnds["customer"].peer
    wish = {"capacity": CAPACITY, "node": f"{key}@{at}", "zero_conf": True}
    return await Order(platform, wish).placed()


async def pay(platform: RunningPlatform, invoice: str) -> dict[str, Any]:
    """Let the seller, on whose side the channel's balance is, pay an invoice."""
    async with wallet.opened(access.load(platform.home).lnds["seller"]) as seller:
        return await seller.pay(invoice)


async def height(platform: RunningPlatform) -> int:
    async with wallet.opened(access.load(platform.home).lnds["seller"]) as seller:
        return (await seller.height())[0]


async def no_batch_waits(platform: RunningPlatform) -> None:
    """Wait until the market wants no block for channels that were sold before."""

    async def is_so() -> bool:
        found = await overview.status(platform.home)
        return all(each["confirmed"] for each in found["batches"])

    await platform.until("no batch waits for blocks", is_so)


async def is_unconfirmed(platform: RunningPlatform, point: str) -> bool:
    async with wallet.opened(access.load(platform.home).lnds["seller"]) as seller:
        answer = await seller.call("GET", "/v1/transactions?start_height=-1")
    (found,) = [
        each
        for each in answer["transactions"]
        if each["tx_hash"] == point.partition(":")[0]
    ]
    return int(found["num_confirmations"]) == 0


async def test_a_strangers_node_is_paid_before_a_block(
    trading_platform: RunningPlatform,
) -> None:
    platform = trading_platform
    seller, _ = await keys(platform)
    await no_batch_waits(platform)
    before = await height(platform)
    async with accepting(platform, seller):
        order = await order_of(platform)
        found = await order.becomes("filled")
        await order.paying
    assert found["zero_conf"]
    assert not found["announce"]
    lnd = access.load(platform.home).lnds["customer"]
    async with wallet.opened(lnd) as customer:
        channel: dict[str, Any] = {}

        async def is_active() -> bool:
            nonlocal channel
            ours = [
                each
                for each in await customer.channels()
                if each["channel_point"] == found["channel_point"]
            ]
            channel = ours[0] if ours else {}
            return bool(channel and channel["active"])

        await platform.until("the channel is active", is_active)
        assert channel["zero_conf"]
        assert channel["private"]
        wish = {"value": str(PAID), "private": True}
        made = await customer.call("POST", "/v1/invoices", wish)
        said: list[str] = []

        async def is_paid() -> bool:
            """Try again: the seller's side may be a moment behind."""
            answer = await pay(platform, made["payment_request"])
            said.append(answer.get("failure_reason", ""))
            return bool(answer["status"] == "SUCCEEDED")

        await platform.until(f"the payment succeeds {said}", is_paid)
    assert await height(platform) == before, "no block came meanwhile"
    assert await is_unconfirmed(platform, found["channel_point"]), "yet it is published"
    await check(platform)


async def test_without_an_acceptor_the_payment_goes_back(
    trading_platform: RunningPlatform,
) -> None:
    """It is never opened in another way instead."""
    order = await order_of(trading_platform)
    await order.becomes("failed")
    await order.went_back()
    assert await channels_of(trading_platform, order.id) == []
    await check(trading_platform)


@pytest.mark.long  # making a node and its wallet takes a minute on a busy machine
async def test_a_hosted_node_gets_it_by_one_command(
    trading_platform: RunningPlatform, tmp_path: Path
) -> None:
    platform = trading_platform
    await platform.spend_credit()
    async with calling(platform.home) as call, owned(platform.home, call) as node:
        macaroon = tmp_path / "admin.macaroon"
        macaroon.write_bytes(bytes.fromhex(node.macaroon))
        wish = {"capacity": 400_000, "node_id": node.node_id, "zero_conf": True}

        async def is_known() -> bool:
            with contextlib.suppress(Refused):
                await platform.api("POST", "/flow/quote", wish | {"zero_conf": False})
                return True
            return False

        await platform.until("the node's public key is known here", is_known)
        with pytest.raises(
            Refused, match="zero_conf: set optionscidalias and zeroconf"
        ):
            await platform.api("POST", "/flow/quote", wish)
        nodes = f"/organizations/{platform.facts['organization_id']}/nodes"
        await platform.api(
            "POST",
            f"{nodes}/{node.node_id}/settings",
            {"optionscidalias": True, "zeroconf": True},
        )
    async with calling(platform.home) as call, owned(platform.home, call) as node:
        await no_batch_waits(platform)
        before = await height(platform)
        ordering = asyncio.create_task(
            platform.run(
                *("channels", "order", "400000", "--for", node.node_id, "--zero-conf"),
                *("--wait", "--json", "--macaroon-file", str(macaroon)),
            )
        )
        await _pay_the_newest(platform)
        answer = await ordering  # how to pay, and then the order
        made = json.loads(answer[answer.index("\n{") :])
        assert made["status"] == "filled"
        assert made["zero_conf"]

        async def is_active() -> bool:
            return any(
                each["channel_point"] == made["channel_point"] and each["active"]
                for each in await node.channels()
            )

        await platform.until("the channel is active", is_active)
        assert await height(platform) == before
    await check(platform)


async def _pay_the_newest(platform: RunningPlatform) -> None:
    async def waits() -> bool:
        listed = await platform.api("GET", "/flow/orders?limit=1")
        return [each["status"] for each in listed["orders"]] == ["waiting_payment"]

    await platform.until("the order is placed", waits)
    (order,) = (await platform.api("GET", "/flow/orders?limit=1"))["orders"]
    await platform.run("dev", "pay", order["lightning_invoice"])
