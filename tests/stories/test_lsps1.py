"""LSPS1 with everything real: a wallet's node over HTTP, and over BOLT 8."""

import asyncio
import base64
import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from leyden.channels.direct.messages import LSPS
from leyden.channels.direct.rules.openings import LSPS as LSPS_BIT
from leyden.customer.claim import rest
from leyden.nodes.lnd.connection import LndConnection
from leyden_workshop.devnet import access, trading, wallet
from tests.stories.platform import RunningPlatform
from tests.stories.test_first_channel import _STEP

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]


async def test_a_wallet_without_an_account_buys_a_channel_over_http(
    trading_platform: RunningPlatform,
) -> None:
    printed = await trading_platform.run("dev", "scenario", "lsps1", "--json")
    lines = printed[: printed.index("{")].splitlines()
    assert [line for line in lines if not _STEP.match(line)] == [], "nothing of a log's"
    story: dict[str, Any] = json.loads(printed[printed.index("{") :])
    # It belongs to the organization of the operator's, who sees it there.
    wish = {"order_id": story["order_id"]}
    order: dict[str, Any] = await trading_platform.api("POST", "/flow/status", wish)
    assert order["status"] == "filled"
    assert order["channel_point"] == story["channel_point"]
    assert order["lease_duration_blocks"] == 4_380
    state = json.loads(await trading_platform.run("lsps1", "--json"))
    assert state["missing"] == []
    assert state["sold"]["min_required_channel_confirmations"] == 0
    assert "max_channel_expiry_blocks" in await trading_platform.run("lsps1")
    assert "the books are right" in await trading_platform.run("verify")


class Peer:
    """The customer's node as a client: JSON-RPC in messages of its own lnd."""

    def __init__(self, lnd: LndConnection, lsp: str) -> None:
        self._lnd, self._lsp = lnd, lsp
        self._answers: asyncio.Queue[Any] = asyncio.Queue()

    async def listen(self) -> None:
        answer = self._lnd.stream("GET", "/v1/custommessage/subscribe")
        async for each in answer:
            if int(each["type"]) == LSPS:
                self._answers.put_nowait(json.loads(base64.b64decode(each["data"])))

    async def send(self, data: bytes) -> None:
        message = {
            "peer": base64.b64encode(bytes.fromhex(self._lsp)).decode(),
            "type": LSPS,
            "data": base64.b64encode(data).decode(),
        }
        await self._lnd.call("POST", "/v1/custommessage", message)

    async def answer(self) -> Any:
        async with asyncio.timeout(30):
            return await self._answers.get()

    async def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Ask, and ask again: what is sent while nobody listens is lost."""
        body = {"jsonrpc": "2.0", "method": method, "params": params}
        for _ in range(10):
            id_ = str(uuid.uuid4())
            await self.send(json.dumps({**body, "id": id_}).encode())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(5):
                    while (answer := await self._answers.get()).get("id") != id_:
                        pass  # an answer to what was asked before
                    return dict(answer)
        raise AssertionError("nobody answers")


@asynccontextmanager
async def peer_of(platform: RunningPlatform) -> AsyncIterator[Peer]:
    """Yield the customer's node, connected to the seller."""
    network = access.load(platform.home)
    async with (
        wallet.opened(network.lnds["seller"]) as seller,
        wallet.opened(network.lnds["customer"]) as customer,
        rest.opened("lnd", network.lnds["customer"]) as lnd,
    ):
        key = await seller.key()
        await customer.connect(key, at=network.lnds["seller"].peer)

        async def announces_lsps() -> bool:
            peers = (await customer.call("GET", "/v1/peers"))["peers"]
            (found,) = [each for each in peers if each["pub_key"] == key]
            return str(LSPS_BIT) in found["features"]

        await platform.until("the seller says that it speaks LSPS", announces_lsps)
        peer = Peer(lnd, key)
        listening = asyncio.create_task(peer.listen())
        try:
            yield peer
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


ZEUS = {
    "lsp_balance_sat": "400000",
    "client_balance_sat": "0",
    "required_channel_confirmations": 1,
    "funding_confirms_within_blocks": 6,
    "channel_expiry_blocks": 4_380,
    "token": "",
    "refund_onchain_address": "",
    "announce_channel": False,
    "client_info": {"app": "ZEUS", "app_version": "0.12.0", "node": "LND"},
}


async def test_a_peer_buys_a_channel_in_messages(
    trading_platform: RunningPlatform,
) -> None:
    async with peer_of(trading_platform) as peer:
        found = await peer.ask("lsps0.list_protocols")
        assert found["result"] == {"protocols": [1, 7]}
        info = (await peer.ask("lsps1.get_info"))["result"]
        assert info["min_required_channel_confirmations"] == 0
        order = (await peer.ask("lsps1.create_order", **ZEUS))["result"]
        assert order["order_state"] == "CREATED"
        bolt11 = order["payment"]["bolt11"]
        paying = asyncio.create_task(
            trading.pay(trading_platform.home, bolt11["invoice"])
        )

        async def completed() -> bool:
            nonlocal order
            request = await peer.ask("lsps1.get_order", order_id=order["order_id"])
            order = request["result"]
            return bool(order["order_state"] == "COMPLETED")

        await trading_platform.until("the order is completed", completed)
        await paying
        assert order["payment"]["bolt11"]["state"] == "PAID"
        assert order["channel"]["funding_outpoint"]
        # Garbage is refused, an answer is not answered, and both harm nothing.
        await peer.send(b"{nope")
        assert (await peer.answer())["error"]["code"] == -32700
        await peer.send(b'{"jsonrpc":"2.0","id":"x","result":{}}')
        await peer.send(b"[" * 60_000)
        refused = await peer.ask("lsps1.get_order", order_id="another one")
        assert refused["error"]["code"] == 101
        await _interleave(peer)
        await trading_platform.run("dev", "mine", "6")
        await _extend(trading_platform, peer, order)
    assert "the books are right" in await trading_platform.run("verify")


async def _extend(
    platform: RunningPlatform, peer: Peer, bought: dict[str, Any]
) -> None:
    """Extend the lease of the channel that was bought, over LSPS7."""
    channel: dict[str, Any] = {}

    async def is_listed() -> bool:
        nonlocal channel
        answer = await peer.ask("lsps7.get_extendable_channels")
        for each in answer["result"]["extendable_channels"]:
            if each.get("original_order", {}).get("id") == bought["order_id"]:
                channel = each
        return bool(channel)

    await platform.until("the channel can be extended", is_listed)
    wish = {
        "short_channel_id": channel["short_channel_id"],
        "channel_extension_expiry_blocks": 144,
    }
    order = (await peer.ask("lsps7.create_order", **wish))["result"]
    assert order["new_channel_expiry_block"] == channel["expiration_block"] + 144
    paying = asyncio.create_task(
        trading.pay(platform.home, order["payment"]["bolt11"]["invoice"])
    )

    async def is_completed() -> bool:
        nonlocal order
        answer = await peer.ask("lsps7.get_order", order_id=order["order_id"])
        order = answer["result"]
        return bool(order["order_state"] == "COMPLETED")

    await platform.until("the lease is extended", is_completed)
    await paying
    assert order["payment"]["bolt11"]["state"] == "PAID"
    order = await platform.api("GET", f"/flow/orders/{bought['order_id']}")
    assert order["lease_ends_block"] == channel["expiration_block"] + 144


async def _interleave(peer: Peer) -> None:
    """Ask several things at once with garbage between: each has its own answer."""
    methods = ("lsps0.list_protocols", "lsps1.get_info", "lsps9.nothing")
    for number, method in enumerate(2 * methods):
        body = {"jsonrpc": "2.0", "id": f"{number} {method}", "method": method}
        await peer.send(json.dumps(body).encode())
        await peer.send(b'{"jsonrpc":"2.0","id":"x","error":{"code":1}}')
        await peer.send(b"\xff" * 30_000)
    found: dict[str, Any] = {}
    while len(found) < 2 * len(methods):
        answer = await peer.answer()
        assert answer["id"] not in found
        found[answer["id"]] = answer
    for id_, answer in found.items():
        if "nothing" in id_:
            assert answer["error"]["code"] == -32601
        else:
            assert ("protocols" in answer["result"]) is ("protocols" in id_)
