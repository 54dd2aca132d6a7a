"""The whole story with everything real: an order, its payment, a ticket, a channel."""

import json
import re
from functools import partial
from typing import Any

import pytest

from leyden_workshop.devnet import access, first_run, trading, wallet
from tests.stories.town import Town

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]


_STEP = re.compile(r" *\d+\.\d s  ")


async def played(town: Town, *words: str) -> dict[str, Any]:
    """Play the story, and hold what it tells against what the platform says."""
    told = await town.run("dev", "scenario", "first-channel", *words, "--json")
    lines = told[: told.index("{")].splitlines()
    strays = [line for line in lines if not _STEP.match(line)]
    assert strays == [], "nothing of a log's"
    story: dict[str, Any] = json.loads(told[told.index("{") :])
    order = await town.api(
        *("POST", "/flow/status", {"order_id": story["order_id"]}),
        key=town.scenarios().api_key,
    )
    assert order["status"] == "filled"
    assert "the books are right" in await town.run("verify")
    return story


async def test_the_customer_gets_a_first_channel(market_town: Town) -> None:
    coupon = json.loads(
        await market_town.run("coupon", "create", "--amount", "21000", "--json")
    )
    await market_town.api("POST", "/flow/redeem", {"coupon": coupon["coupon"]})
    before = await market_town.credit()
    story = await played(market_town)
    assert await market_town.credit() == before, "the scenario did not bring it"
    assert story["capacity"] == 1_000_000
    network = access.load(market_town.home)
    async with wallet.opened(network.lnds["customer"]) as customer:
        points = [each["channel_point"] for each in await customer.channels()]
    assert story["channel_point"] in points


@pytest.mark.long
async def test_a_hosted_node_gets_a_first_channel(market_town: Town) -> None:
    story = await played(market_town, "--hosted", "--capacity", "2000000")
    assert story["capacity"] == 2_000_000


@pytest.mark.long
async def test_the_next_story_has_the_same_node(market_town: Town) -> None:
    """Else some twenty of them would end at the organization's quota."""
    points = {(await played(market_town, "--hosted"))["channel_point"]}
    account = market_town.scenarios()
    nodes = f"/organizations/{account.organization_id}/nodes"
    call = partial(market_town.api, key=account.api_key)

    async def there() -> set[str]:
        found = (await call("GET", nodes))["nodes"]
        return {each["node_id"] for each in found}

    def kept() -> str:
        hosted = first_run.read(market_town.home)["hosted"]
        return str(hosted[account.organization_id]["node_id"])

    before = await there()
    points.add((await played(market_town, "--hosted"))["channel_point"])
    assert await there() == before
    assert len(points) == 2
    await call("POST", f"{nodes}/{kept()}/restart")
    await played(market_town, "--hosted")  # whose wallet is locked by now
    await call("DELETE", f"{nodes}/{kept()}")
    await played(market_town, "--hosted")
    assert kept() not in before


@pytest.mark.long
async def test_a_platform_that_dies_after_the_ticket_finds_its_order_filled(
    market_town: Town,
) -> None:
    town = market_town
    await town.opens()
    await town.spend_credit()
    order = await town.api("POST", "/flow/create", {"capacity": 3_000_000})
    await trading.pay(town.home, order["lightning_invoice"])

    async def status() -> str:
        told = await town.api("POST", "/flow/status", {"order_id": order["order_id"]})
        order.update(told)
        return str(told["status"])

    async def ticketed() -> bool:
        return await status() == "created"

    await town.until("the order has a ticket", ticketed)
    await trading.register(town.home, order["sidecar_ticket"])
    await town.kill()
    await town.up()

    async def filled() -> bool:
        return await status() == "filled"

    await town.until("the order is filled", filled)
    assert "the books are right" in await town.run("verify")
