"""The lnd that pays other LSPs, and looks for their channels in the chain."""

import asyncio
import base64
from typing import Any, Final

from leyden.base.rules.units import Sats
from leyden.channels.direct.base import PayerNode, WrapRefused
from leyden.channels.direct.connection import refusal
from leyden.channels.direct.lnd_paying import LndPaying
from leyden.channels.rules.payments import Outpoint
from leyden.errors import NodeRefused
from leyden.lnd.rest import CALL_S
from leyden.nodes.lnd.best_chain import BLOCK, BLOCK_HASH
from leyden.nodes.lnd.connection import LndAccess
from leyden.nodes.lnd.transactions import outputs_of

# How long lnd looks for routes, and the most blocks that a payment may be locked for.
_TRIES_S: Final = 60
_CLTV_LIMIT: Final = 1_008
_MAX_CACHED: Final = 10_000


class LndPayer(LndPaying):
    """An lnd with channels of its own to pay over; never the treasury's."""

    def __init__(self, access: LndAccess, *, answer_s: float = CALL_S) -> None:
        super().__init__(access, answer_s=answer_s)
        # What a block's transaction pays to each output, by block hash and its id.
        self._outputs: dict[tuple[str, str], tuple[int, ...] | None] = {}

    async def node(self) -> PayerNode:
        """Return who pays, and its chain."""
        info = await self._lnd.call_or_away("GET", "/v1/getinfo")
        return PayerNode(
            pubkey=str(info["identity_pubkey"]),
            height=int(info["block_height"]),
            synced=bool(info["synced_to_chain"]),
        )

    async def spendable(self) -> Sats:
        """Return what active channels can send."""
        response = await self._lnd.call_or_away("GET", "/v1/channels?active_only=true")
        return Sats(sum(int(each["local_balance"]) for each in response["channels"]))

    async def pay(self, request: str, *, fee_limit: Sats) -> WrapRefused | None:
        """Begin to pay an invoice."""
        wish = {
            "payment_request": request,
            "fee_limit_msat": str(fee_limit * 1_000),
            "cltv_limit": _CLTV_LIMIT,
            "max_parts": 16,
            "timeout_seconds": _TRIES_S,
        }
        return await self._send(wish, until_begun=True)

    async def output_sats(self, point: Outpoint, *, since: int) -> Sats | None:
        """Return what an output in a block since then has; None if no block has it."""
        top = (await self.node()).height
        for height in range(top, max(0, since - 1), -1):
            outputs = await self._outputs_at(height, point.txid)
            if outputs is not None:
                is_there = point.vout < len(outputs)
                return Sats(outputs[point.vout]) if is_there else None
        return None

    async def _outputs_at(self, height: int, txid: str) -> tuple[int, ...] | None:
        found = await self._chain(f"{BLOCK_HASH}?block_height={height}")
        block_hash = base64.b64decode(found["block_hash"])
        key = block_hash.hex(), txid
        if key not in self._outputs:
            name = base64.urlsafe_b64encode(block_hash).decode()
            found = await self._chain(f"{BLOCK}?block_hash={name}")
            raw = base64.b64decode(found["raw_block"])
            outputs = await asyncio.to_thread(outputs_of, raw, txid)
            if len(self._outputs) >= _MAX_CACHED:
                self._outputs.clear()
            self._outputs[key] = outputs
        return self._outputs[key]

    async def _chain(self, path: str) -> dict[str, Any]:
        try:
            return await self._lnd.call("GET", path)
        except NodeRefused as error:
            raise refusal(error) from error
