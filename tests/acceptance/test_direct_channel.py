"""Channels to nodes that the order names, with everything real."""

import json
from typing import Any

import pytest

from leyden.devnet import access, wallet
from tests.acceptance.test_first_channel import _STEP
from tests.acceptance.town import Town

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]


async def played(town: Town, *words: str) -> dict[str, Any]:
    """Play the story, and hold what it tells against what the platform says."""
    told = await town.run("dev", "scenario", "direct-channel", *words, "--json")
    lines = told[: told.index("{")].splitlines()
    assert [line for line in lines if not _STEP.match(line)] == [], "nothing of a log's"
    story: dict[str, Any] = json.loads(told[told.index("{") :])
    wish = {"order_id": story["order_id"]}
    order: dict[str, Any] = await town.api("POST", "/flow/status", wish)
    assert order["status"] == "filled"
    assert order["sidecar_ticket"] == ""
    assert order["channel_point"] == story["channel_point"]
    assert order["peer"] == story["remote_pubkey"]
    assert order["seller_uri"].startswith(f"{order['peer']}@")
    assert "the books are right" in await town.run("verify")
    return order | story


async def test_a_strangers_node_gets_a_channel(market_town: Town) -> None:
    await market_town.spend_credit()
    story = await played(market_town)
    network = access.load(market_town.home)
    async with wallet.opened(network.lnds["customer"]) as customer:
        assert story["node"] == await customer.key()
        (channel,) = [
            each
            for each in await customer.channels()
            if each["channel_point"] == story["channel_point"]
        ]
    assert channel["private"]
    assert int(channel["capacity"]) == 1_000_000


async def test_a_hosted_node_gets_a_channel(market_town: Town) -> None:
    story = await played(market_town, "--hosted", "--capacity", "2000000")
    assert story["capacity"] == 2_000_000
    assert story["node_id"]
