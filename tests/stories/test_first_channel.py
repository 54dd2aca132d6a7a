"""The whole story with everything real: an order, its payment, a ticket, a channel."""

import json
import re
from functools import partial
from typing import Any

import pytest

from leyden_workshop.devnet import access, first_run, trading, wallet
from tests.stories.platform import RunningPlatform

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]


_STEP = re.compile(r" *\d+\.\d s  ")


async def played(platform: RunningPlatform, *words: str) -> dict[str, Any]:
    """Play the story, and hold what it tells against what the platform says."""
    printed = await platform.run("dev", "scenario", "first-channel", *words, "--json")
    lines = printed[: printed.index("{")].splitlines()
    strays = [line for line in lines if not _STEP.match(line)]
    assert strays == [], "nothing of a log's"
    story: dict[str, Any] = json.loads(printed[printed.index("{") :])
    order = await platform.api(
        *("POST", "/flow/status", {"order_id": story["order_id"]}),
        key=platform.scenarios().api_key,
    )
    assert order["status"] == "filled"
    assert "the books are right" in await platform.run("verify")
    return story


async def test_the_customer_gets_a_first_channel(
    trading_platform: RunningPlatform,
) -> None:
    coupon = json.loads(
        await trading_platform.run("coupons", "create", "--amount", "21000", "--json")
    )
    await trading_platform.api("POST", "/flow/redeem", {"coupon": coupon["coupon"]})
    before = await trading_platform.credit()
    story = await played(trading_platform)
    assert await trading_platform.credit() == before, "the scenario did not bring it"
    assert story["capacity"] == 1_000_000
    network = access.load(trading_platform.home)
    async with wallet.opened(network.lnds["customer"]) as customer:
        points = [each["channel_point"] for each in await customer.channels()]
    assert story["channel_point"] in points


@pytest.mark.long
async def test_a_hosted_node_gets_a_first_channel(
    trading_platform: RunningPlatform,
) -> None:
    story = await played(trading_platform, "--hosted", "--capacity", "2000000")
    assert story["capacity"] == 2_000_000


@pytest.mark.long
async def test_the_next_story_has_the_same_node(
    trading_platform: RunningPlatform,
) -> None:
    """Else some twenty of them would end at the organization's quota."""
    points = {(await played(trading_platform, "--hosted"))["channel_point"]}
    account = trading_platform.scenarios()
    nodes = f"/organizations/{account.organization_id}/nodes"
    call = partial(trading_platform.api, key=account.api_key)

    async def is_reached() -> set[str]:
        found = (await call("GET", nodes))["nodes"]
        return {each["node_id"] for each in found}

    def is_kept() -> str:
        hosted = first_run.read(trading_platform.home)["hosted"]
        return str(hosted[account.organization_id]["node_id"])

    before = await is_reached()
    points.add((await played(trading_platform, "--hosted"))["channel_point"])
    assert await is_reached() == before
    assert len(points) == 2
    await call("POST", f"{nodes}/{is_kept()}/restart")
    await played(trading_platform, "--hosted")  # whose wallet is locked by now
    await call("DELETE", f"{nodes}/{is_kept()}")
    await played(trading_platform, "--hosted")
    assert is_kept() not in before


@pytest.mark.long
async def test_a_platform_that_dies_after_the_ticket_finds_its_order_filled(
    trading_platform: RunningPlatform,
) -> None:
    platform = trading_platform
    await platform.opens()
    await platform.spend_credit()
    order = await platform.api("POST", "/flow/create", {"capacity": 3_000_000})
    await trading.pay(platform.home, order["lightning_invoice"])

    async def status() -> str:
        answer = await platform.api(
            "POST", "/flow/status", {"order_id": order["order_id"]}
        )
        order.update(answer)
        return str(answer["status"])

    async def ticketed() -> bool:
        return await status() == "created"

    await platform.until("the order has a ticket", ticketed)
    await trading.register(platform.home, order["sidecar_ticket"])
    await platform.kill()
    await platform.up()

    async def filled() -> bool:
        return await status() == "filled"

    await platform.until("the order is filled", filled)
    assert "the books are right" in await platform.run("verify")
