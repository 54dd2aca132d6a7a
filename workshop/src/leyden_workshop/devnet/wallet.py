"""A small REST client for an lnd of the private chain."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from leyden.customer.claim import rest
from leyden.errors import Away, Refused
from leyden.nodes.lnd.connection import LndConnection
from leyden_workshop.devnet.access import LndEndpoint

_PAYS_WITHIN_S = 60


class Wallet:
    """A client for one lnd and its wallet."""

    def __init__(self, lnd: LndConnection) -> None:
        self._lnd = lnd

    async def state(self) -> str:
        """Return lnd's state; lnd is ready in SERVER_ACTIVE."""
        answer = await self.call("GET", "/v1/state")
        return str(answer["state"])

    async def height(self) -> tuple[int, bool]:
        """Return lnd's block height, and whether lnd reports being synced."""
        answer = await self.call("GET", "/v1/getinfo")
        return answer["block_height"], answer["synced_to_chain"]

    async def key(self) -> str:
        """Return the node's public key."""
        answer = await self.call("GET", "/v1/getinfo")
        return str(answer["identity_pubkey"])

    async def balance(self) -> int:
        """Return the on-chain balance in sats, unconfirmed coins included."""
        answer = await self.call("GET", "/v1/balance/blockchain")
        return int(answer["total_balance"])

    async def address(self) -> str:
        """Return a new on-chain address."""
        answer = await self.call("GET", "/v1/newaddress?type=TAPROOT_PUBKEY")
        return str(answer["address"])

    async def channels(self) -> list[dict[str, Any]]:
        """List the open channels as lnd reports them."""
        answer = await self.call("GET", "/v1/channels")
        return list(answer["channels"])

    async def connect(self, key: str, *, at: str) -> None:
        """Connect to a peer; one that is connected stays so."""
        wish = {"addr": {"pubkey": key, "host": at}, "timeout": "10"}
        try:
            await self.call("POST", "/v1/peers", wish)
        except Refused as refused:
            if "already connected" not in refused.message:
                raise

    async def open_channel(self, key: str, *, at: str, sats: int) -> None:
        """Open a channel to a peer; it is usable after some blocks."""
        await self.connect(key, at=at)
        opened_ = {
            "node_pubkey": base64.b64encode(bytes.fromhex(key)).decode(),
            "local_funding_amount": str(sats),
        }
        await self.call("POST", "/v1/channels", opened_)

    async def has_route(self, key: str, sats: int) -> bool:
        """Return whether lnd finds a route for a payment to this node."""
        try:
            await self.call("GET", f"/v1/graph/routes/{key}/{sats}")
        except Refused:
            return False
        return True

    async def announces(self, key: str, other: str) -> bool:
        """Return whether lnd's graph has an announced channel between two nodes."""
        path = f"/v1/graph/node/{key}?include_channels=true"
        channels = (await self.call("GET", path))["channels"]
        ends = [{each["node1_pub"], each["node2_pub"]} for each in channels]
        return {key, other} in ends

    async def invoice(self, sats: int) -> str:
        """Return an invoice that names private channels, too."""
        wish = {"value": str(sats), "private": True}
        answer = await self.call("POST", "/v1/invoices", wish)
        return str(answer["payment_request"])

    async def has_hints(self, invoice: str) -> bool:
        """Return whether an invoice names private channels."""
        answer = await self.call("GET", f"/v1/payreq/{invoice}")
        return bool(answer["route_hints"])

    async def pay(self, invoice: str) -> dict[str, Any]:
        """Pay an invoice; return lnd's last update (IN_FLIGHT if it is held)."""
        wish = {
            "payment_request": invoice,
            "timeout_seconds": _PAYS_WITHIN_S,
            "fee_limit_sat": "1000",
            "no_inflight_updates": True,
        }
        last: dict[str, Any] = {}
        try:
            async with asyncio.timeout(2 * _PAYS_WITHIN_S):
                async for payment in self._lnd.stream("POST", "/v2/router/send", wish):
                    last = payment
        except TimeoutError:
            raise Away("lnd does not report the payment's result") from None
        return last

    async def send(self, address: str, sats: int) -> str:
        """Pay an address; return the id of the unconfirmed transaction."""
        wish = {"addr": address, "amount": str(sats), "sat_per_vbyte": "2"}
        answer = await self.call("POST", "/v1/transactions", wish)
        return str(answer["txid"])

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """Call lnd's REST API.

        Raise Refused with lnd's own message, or Away if lnd cannot be reached.
        """
        return await self._lnd.call(method, path, body)


@asynccontextmanager
async def opened(access: LndEndpoint) -> AsyncIterator[Wallet]:
    """Yield a client for this wallet, whose lnd need not be up yet."""
    async with rest.opened("lnd", access) as lnd:
        yield Wallet(lnd)
