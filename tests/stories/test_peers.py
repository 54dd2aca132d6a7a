"""Two hosted nodes are peers of each other, by their public addresses and no other way.

Real lnds, behind the real Envoy, held by the egress policy where this machine has one.
"""

import asyncio
import contextlib
import json
from functools import partial
from pathlib import Path

import pytest

from leyden.base import processes
from leyden.errors import NodeAway
from tests.programs import built
from tests.stories.platform import Owned, RunningPlatform
from tests.stories.test_node_story import is_answered

pytestmark = [
    pytest.mark.real,
    pytest.mark.long,  # half a minute on a busy machine
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

COINS = 3_000_000
CAPACITY = 1_000_000
PRICE = 12_000


class Peer:
    """A node with coins, that can be called at its public address."""

    def __init__(self, platform: RunningPlatform, node: Owned) -> None:
        self.town = platform
        self.node = node
        self.call = node.call

    async def opens_its_wallet(self) -> None:
        await self.town.says(self.node, "waiting_init")
        await self.node.init()
        await self.town.says(self.node, "running")
        address = (await self.call("GET", "/v1/newaddress"))["address"]
        await self.town.run("dev", "fund", address, str(COINS))
        shown = await self.town.of(self.node, "GET", "")
        info = await self.call("GET", "/v1/getinfo")
        self.key: str = info["identity_pubkey"]
        self.address: str = shown["peer_address"]
        assert info["uris"] == [f"{self.key}@{self.address}"]

    async def has_its_coins(self) -> bool:
        balance = await self.call("GET", "/v1/balance/blockchain")
        return int(balance["confirmed_balance"]) >= COINS

    async def connects_to(self, other: "Peer") -> None:
        address = {"pubkey": other.key, "host": other.address}
        await self.call("POST", "/v1/peers", {"addr": address, "timeout": "10"})

    async def has_a_peer(self) -> bool:
        return bool((await self.call("GET", "/v1/peers"))["peers"])

    async def opens_a_channel_to(self, other: "Peer") -> None:
        await self.call(
            "POST",
            "/v1/channels",
            {
                "node_pubkey_string": other.key,
                "local_funding_amount": str(CAPACITY),
            },
        )

    async def has_channels(self, number: int) -> bool:
        channels = (await self.call("GET", "/v1/channels"))["channels"]
        return [each["active"] for each in channels] == [True] * number

    async def pays(self, other: "Peer") -> None:
        """Pay an invoice, once the way is in lnd's own graph."""
        way = f"/v1/graph/routes/{other.key}/{PRICE}"
        await self.town.until("payments find it", partial(is_answered, self.call, way))
        invoice = await other.call("POST", "/v1/invoices", {"value": str(PRICE)})
        await self.pays_invoice(invoice["payment_request"])

    async def pays_invoice(self, request: str) -> None:
        """Pay it by the one call that lnd 0.20 and 0.21 both have."""
        body = {
            "payment_request": request,
            "timeout_seconds": 60,
            "fee_limit_sat": "100",
            "no_inflight_updates": True,  # it answers once, at the end
        }
        paid = await self.call("POST", "/v2/router/send", body)
        assert paid["result"]["status"] == "SUCCEEDED", paid

    async def flaps(self) -> int:
        """Return how often its one peer has come or gone."""
        (peer,) = (await self.call("GET", "/v1/peers"))["peers"]
        return int(peer["flap_count"])

    async def bytes_through_gateway(self) -> int:
        return int((await self.town.of(self.node, "GET", "/metrics"))["bytes_in"])


@pytest.mark.parametrize("version", ["v0.20.2-beta", "v0.21.2-beta"])
async def test_two_nodes_are_peers_by_their_public_addresses(
    platform: RunningPlatform, tmp_path: Path, version: str
) -> None:
    built(f"lnd {version}")
    settings = {"maxpendingchannels": "2"}
    east, west = [
        Peer(platform, await platform.create(name, version=version, settings=settings))
        for name in ("east pier", "west pier")
    ]
    await asyncio.gather(east.opens_its_wallet(), west.opens_its_wallet())
    for each in (east, west):
        await platform.until("it has its coins", each.has_its_coins)

    before = await west.bytes_through_gateway()
    await east.connects_to(west)
    await platform.until("west knows of it too", west.has_a_peer)
    await asyncio.gather(east.opens_a_channel_to(west), west.opens_a_channel_to(east))
    await platform.run("dev", "mine", "6")
    for each in (east, west):
        await platform.until("both channels are active", partial(each.has_channels, 2))
    await east.pays(west)
    await west.pays(east)
    assert await west.bytes_through_gateway() > before + 1_000
    file = tmp_path / "east.macaroon"
    file.write_text(east.node.macaroon)
    words = ("wallet", "channels", "east pier", "--macaroon-file", str(file), "--json")
    body = json.loads(await platform.run(*words))
    assert body["peer_address"] == f"{east.key}@{east.address}"
    assert len(body["channels"]) == 2

    flaps = await east.flaps()
    await restart_gateway(platform, west)
    for each in (east, west):
        await platform.until("they are peers again", partial(each.has_channels, 2))
    await west.pays(east)
    assert await east.flaps() <= flaps + 2  # gone once, and come back

    await platform.of(west.node, "DELETE", "")
    await platform.of(east.node, "DELETE", "")


async def restart_gateway(platform: RunningPlatform, caller: Peer) -> None:
    """End Envoy without a word, and wait for the next one."""
    claim = platform.home / "gateway" / "claim"
    first = processes.holder(claim)
    assert first is not None
    await processes.stop(first, grace_s=0)

    async def is_back() -> bool:
        with contextlib.suppress(NodeAway):
            await caller.call("GET", "/v1/getinfo")
            return processes.holder(claim) not in {None, first}
        return False

    await platform.until("the gateway is back", is_back)
