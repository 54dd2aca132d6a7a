"""Balance moves around a ring of three nodes, by the command and in the page.

Real lnds: what arrives is exact, and only the fee leaves the node.
"""

import asyncio
import base64
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.programs import needs
from tests.stories.platform import RunningPlatform
from tests.stories.test_browser import alice, turn_to
from tests.stories.test_node_pages import PASSWORD, confirm, in_the_vault, with_coins
from tests.stories.test_node_story import is_answered
from tests.stories.test_peers import Peer

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    needs("chromium", "certutil"),
]
NAMES = ("ring east", "ring west", "ring north")


async def ring(platform: RunningPlatform, version: str) -> tuple[Peer, Peer, Peer]:
    """Return three nodes, of which each has opened a channel to the next."""
    east, west, north = await asyncio.gather(
        *(with_coins(platform, name, version) for name in NAMES)
    )
    # New peers ask for the graph; what is new comes to old ones minutes later.
    await opened(platform, (west, north), number=1)
    await platform.until("it is announced", partial(has_an_edge, west))
    await opened(platform, (east, west), (north, east), number=2)
    (first,) = [each for each in await channels(east) if each["initiator"]]
    last = base64.urlsafe_b64encode(bytes.fromhex(north.key)).decode()
    way = (
        f"/v1/graph/routes/{east.key}/50000"
        f"?outgoing_chan_id={first['chan_id']}&last_hop_pubkey={last}"
    )
    known = partial(is_answered, east.call, way)
    await platform.until("lnd knows the ring", known, seconds=150)
    return east, west, north


async def has_an_edge(peer: Peer) -> bool:
    """Whether its graph has an announced channel, with the fees of both ends."""
    edges = (await peer.call("GET", "/v1/graph"))["edges"]
    return any(each["node1_policy"] and each["node2_policy"] for each in edges)


async def opened(
    platform: RunningPlatform, *pairs: tuple[Peer, Peer], number: int
) -> None:
    """Open a channel from the first of each pair to the second; wait for them."""
    for each, other in pairs:
        await each.connects_to(other)
        await each.opens_a_channel_to(other)
    await platform.run("dev", "mine", "6")
    for each in {peer for pair in pairs for peer in pair}:
        await platform.until(
            "its channels are active", partial(each.has_channels, number)
        )


async def channels(peer: Peer) -> list[dict[str, Any]]:
    return list((await peer.call("GET", "/v1/channels"))["channels"])


async def local(peer: Peer, other: Peer) -> int:
    """Return the local balance of its channel with another node."""
    (found,) = [
        each for each in await channels(peer) if each["remote_pubkey"] == other.key
    ]
    return int(found["local_balance"])


@pytest.mark.parametrize(
    "version", ["v0.20.2-beta", pytest.param("v0.21.2-beta", marks=pytest.mark.long)]
)
async def test_balance_moves_around_a_ring(
    platform: RunningPlatform, tmp_path: Path, version: str
) -> None:
    east, west, north = await ring(platform, version)
    macaroon = tmp_path / "macaroon"
    macaroon.write_text(east.node.macaroon)
    points = {each["remote_pubkey"]: each for each in await channels(east)}
    words = (
        *("wallet", "rebalance", NAMES[0]),
        *(points[each.key]["channel_point"] for each in (west, north)),
        *("50000", "--yes", "--macaroon-file", str(macaroon), "--json"),
    )
    refused = await platform.run(*words, "--fee-limit", "0", code=5)
    assert "nothing was moved, and no fee paid" in refused
    assert await local(east, north) == 0

    before = await local(east, west)
    moved = json.loads(await platform.run(*words, "--fee-limit", "50"))
    assert moved["sats"] == 50_000
    assert 0 < moved["fee_sats"] <= 50
    left = before - 50_000 - moved["fee_sats"]

    async def is_moved() -> bool:
        found = await local(east, west)
        # lnd has thousandths, too.
        return await local(east, north) == 50_000 and abs(found - left) < 1

    # A payment has succeeded before both ends of a channel have signed its balance.
    await platform.until("it has arrived", is_moved)

    await in_the_vault(platform, east)
    async with alice(platform, tmp_path / "alice") as window:
        await turn_to(window, platform, east.node, "channels")
        await window.type(password=PASSWORD)
        await window.press("Open vault")
        # Which has no name as long as lnd has not heard it.
        peer = window.page.locator(f'[data-with][title="{north.key}"]')
        row = window.page.locator("#channels tr", has=peer)
        await row.locator("[data-move]").click()
        await window.type(move_amount="20000", move_limit="50")
        await window.press("Move balance")
        await confirm(window, asks=True)
        await window.see("Moved 20,000 sat, for a fee of")

    async def is_back() -> bool:
        found = await local(east, west)
        # Its new channel paid the fee, too.
        came = 30_000 - 50 <= await local(east, north) < 30_000
        return came and abs(found - (left + 20_000)) < 1

    await platform.until("20,000 are back", is_back)
    for each in (east, west, north):
        await platform.of(each.node, "DELETE", "")
