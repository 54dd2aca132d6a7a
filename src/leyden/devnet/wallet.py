"""The few questions we have for an lnd of the private chain, by its REST."""

import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from leyden.devnet import rest
from leyden.devnet.access import Lnd
from leyden.errors import Refused

_PAYS_WITHIN_S = 60


class Wallet:
    """One lnd with its wallet."""

    def __init__(self, calls: rest.Rest) -> None:
        self._calls = calls

    async def state(self) -> str:
        """Tell lnd's own state; SERVER_ACTIVE is the one that counts."""
        answer = await self.call("GET", "/v1/state")
        return str(answer["state"])

    async def height(self) -> tuple[int, bool]:
        """Tell how far lnd has followed the chain, and whether it says that is all."""
        answer = await self.call("GET", "/v1/getinfo")
        return answer["block_height"], answer["synced_to_chain"]

    async def key(self) -> str:
        """Give the public key that peers know it by."""
        answer = await self.call("GET", "/v1/getinfo")
        return str(answer["identity_pubkey"])

    async def balance(self) -> int:
        """Count its sats on the chain, the unconfirmed ones too."""
        answer = await self.call("GET", "/v1/balance/blockchain")
        return int(answer["total_balance"])

    async def address(self) -> str:
        """Give a new address of its own."""
        answer = await self.call("GET", "/v1/newaddress?type=TAPROOT_PUBKEY")
        return str(answer["address"])

    async def channels(self) -> list[dict[str, Any]]:
        """List its open channels as lnd tells of them."""
        answer = await self.call("GET", "/v1/channels")
        return list(answer["channels"])

    async def open_channel(self, key: str, *, at: str, sats: int) -> None:
        """Open a channel to a peer; it wants blocks before it can be used."""
        wish = {"addr": {"pubkey": key, "host": at}, "timeout": "10"}
        try:
            await self.call("POST", "/v1/peers", wish)
        except Refused as refused:
            if "already connected" not in refused.message:
                raise
        opened_ = {
            "node_pubkey": base64.b64encode(bytes.fromhex(key)).decode(),
            "local_funding_amount": str(sats),
        }
        await self.call("POST", "/v1/channels", opened_)

    async def has_route(self, key: str, sats: int) -> bool:
        """Tell whether a payment to this node can set out."""
        try:
            await self.call("GET", f"/v1/graph/routes/{key}/{sats}")
        except Refused:
            return False
        return True

    async def pay(self, invoice: str) -> dict[str, Any]:
        """Pay an invoice and give lnd's last word; a held one stays IN_FLIGHT."""
        answer = await self.call(
            "POST",
            "/v2/router/send",
            {
                "payment_request": invoice,
                "timeout_seconds": _PAYS_WITHIN_S,
                "fee_limit_sat": "1000",
                "no_inflight_updates": True,
            },
            patience_s=2 * _PAYS_WITHIN_S,
        )
        if "error" in answer:
            raise Refused(str(answer["error"]["message"]))
        found: dict[str, Any] = answer["result"]
        return found

    async def send(self, address: str, sats: int) -> str:
        """Pay to an address and give the transaction's id, unconfirmed."""
        wish = {"addr": address, "amount": str(sats), "sat_per_vbyte": "2"}
        answer = await self.call("POST", "/v1/transactions", wish)
        return str(answer["txid"])

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        patience_s: float = 30.0,
    ) -> Any:
        """Call its REST; Refused with lnd's own words, Away when it is not there."""
        return await self._calls.call(method, path, body, patience_s=patience_s)


@asynccontextmanager
async def opened(access: Lnd) -> AsyncIterator[Wallet]:
    """Give the wallet behind this access; it need not answer yet."""
    async with rest.opened(
        "lnd",
        access.rest,
        certificate=Path(access.certificate),
        macaroon=Path(access.macaroon),
    ) as calls:
        yield Wallet(calls)
