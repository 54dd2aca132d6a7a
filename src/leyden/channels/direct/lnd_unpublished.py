"""Channels of an lnd whose funding transaction is published when we say so.

lnd opens a channel for a transaction of somebody else's (a PSBT), signed or not. It
never publishes it, nor does it store it: that is ours to do. Until then, its coins are
locked in lnd's wallet, and nothing else keeps them there.
"""

import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from leyden.channels.direct.base import WantedOpening
from leyden.channels.direct.connection import (
    UNPUBLISHED_PERMISSIONS,
    SellerConnection,
    check_ready,
    is_denied,
)
from leyden.channels.direct.lnd import (
    opening_of,
    outpoint_of,
    outpoints_of,
    point_of,
)
from leyden.channels.direct.rules.openings import (
    Coin,
    Opening,
    OpeningRefused,
    OpeningState,
)
from leyden.channels.direct.rules.transactions import txid_of
from leyden.errors import NodeRefused, SellerAway
from leyden.nodes.lnd.connection import LndAccess

# Longer than any payment can be kept. It is unlocked before, by us.
_LOCKED_S: Final = 365 * 24 * 60 * 60
_ABANDON: Final = "/v1/channels/abandon/{}?i_know_what_i_am_doing=true"
_STEP: Final = "/v1/funding/step"
_NOTHING: Final = base64.b64encode(bytes(32)).decode()
# A call for each permission, with nothing that lnd could do. It checks them first.
_HARMLESS: Final[Mapping[str, tuple[str, str, dict[str, Any] | None]]] = {
    "FundPsbt": ("POST", "/v2/wallet/psbt/fund", {}),
    "FinalizePsbt": ("POST", "/v2/wallet/psbt/finalize", {}),
    "PublishTransaction": ("POST", "/v2/wallet/tx", {}),
    "ReleaseOutput": ("POST", "/v2/wallet/utxos/release", {}),
    "FundingStateStep": (
        "POST",
        _STEP,
        {"shim_cancel": {"pending_chan_id": _NOTHING}},
    ),
    "AbandonChannel": ("DELETE", "/v1/channels/abandon/00/0", None),
}


class LndUnpublished:
    """Opens channels, and publishes or forgets them."""

    def __init__(self, access: LndAccess) -> None:
        self._lnd = SellerConnection(access)

    async def open(
        self, wanted: WantedOpening, store: Callable[[str], Awaitable[None]]
    ) -> Opening | OpeningRefused:
        """Open the channel; store its transaction before the peer is asked to sign."""
        shim = {"pending_chan_id": _key(wanted.order_id), "no_publish": True}
        body = opening_of(wanted) | {"funding_shim": {"psbt_shim": shim}}
        stream = self._lnd.stream("POST", "/v1/channels/stream", body)
        try:
            async with aclosing(stream) as updates:
                async for update in updates:
                    if (fund := update.get("psbt_fund")) is not None:
                        await self._fund(wanted, fund, store)
                    if (pending := update.get("chan_pending")) is not None:
                        return Opening(
                            state=OpeningState.UNPUBLISHED,
                            channel_point=point_of(pending),
                        )
        except (NodeRefused, ValueError) as error:
            if isinstance(error, NodeRefused):
                check_ready(error)
            await self.give_up(wanted.order_id, "", wanted.coins)
            return OpeningRefused(str(error)[:400])
        return OpeningRefused("the purse's lnd ended the call without an answer")

    async def _fund(
        self,
        wanted: WantedOpening,
        fund: Mapping[str, Any],
        store: Callable[[str], Awaitable[None]],
    ) -> None:
        outputs = {str(fund["funding_address"]): str(fund["funding_amount"])}
        funded = await self._lnd.call(
            "POST",
            "/v2/wallet/psbt/fund",
            {
                "raw": {"inputs": outpoints_of(wanted.coins), "outputs": outputs},
                "sat_per_vbyte": str(wanted.fee_sat_per_vb),
                "min_confs": 1,
                "custom_lock_id": _key(wanted.order_id),
                "lock_expiration_seconds": str(_LOCKED_S),
            },
        )
        psbt = funded["funded_psbt"]
        signed = await self._lnd.call(
            "POST", "/v2/wallet/psbt/finalize", {"funded_psbt": psbt}
        )
        transaction = base64.b64decode(signed["raw_final_tx"]).hex()
        txid_of(transaction)
        await store(transaction)
        verify = {
            "funded_psbt": psbt,
            "pending_chan_id": _key(wanted.order_id),
            "skip_finalize": True,
        }
        await self._lnd.call("POST", _STEP, {"psbt_verify": verify})

    async def publish(
        self, order_id: str, transaction: str, coins: Sequence[Coin]
    ) -> str:
        """Publish it, and let lnd keep it; one that lnd has is no error."""
        raw = base64.b64encode(bytes.fromhex(transaction)).decode()
        try:
            answer = await self._lnd.call("POST", "/v2/wallet/tx", {"tx_hex": raw})
        except NodeRefused as error:
            check_ready(error)
            return error.message[:400]
        if not (why := str(answer.get("publish_error", ""))):
            await self._unlock(order_id, coins)
        return why

    async def give_up(self, order_id: str, point: str, coins: Sequence[Coin]) -> None:
        """Cancel what is under way, abandon the channel, and then unlock the coins."""
        cancel = {"shim_cancel": {"pending_chan_id": _key(order_id)}}
        await self._try("POST", _STEP, cancel)
        if point:
            path = _ABANDON.format(point.replace(":", "/"))
            await self._try("DELETE", path, None)
            listed = await self._lnd.call_or_away("GET", "/v1/channels")
            if any(each["channel_point"] == point for each in listed["channels"]):
                raise SellerAway(why="lnd didn't abandon a channel", retry_after_s=5)
        await self._unlock(order_id, coins)

    async def _unlock(self, order_id: str, coins: Sequence[Coin]) -> None:
        for outpoint in outpoints_of(coins):
            release = {"id": _key(order_id), "outpoint": outpoint}
            await self._try("POST", "/v2/wallet/utxos/release", release)
        leases = await self._lnd.call_or_away("POST", "/v2/wallet/utxos/leases", {})
        ours = {each.outpoint for each in coins}
        if any(
            each["id"] == _key(order_id) and outpoint_of(each["outpoint"]) in ours
            for each in leases["locked_utxos"]
        ):
            raise SellerAway(why="lnd didn't unlock a coin", retry_after_s=5)

    async def _try(
        self, method: str, path: str, body: Mapping[str, object] | None
    ) -> None:
        """Call; a refusal says that there is no such thing, or is found afterwards."""
        try:
            await self._lnd.call(method, path, body)
        except NodeRefused as error:
            check_ready(error)

    async def denied(self) -> list[str]:
        """List the permissions that our macaroon lacks."""
        found = []
        for permission in UNPUBLISHED_PERMISSIONS:
            method, path, body = _HARMLESS[permission.rpartition("/")[2]]
            try:
                await self._lnd.call(method, path, body)
            except NodeRefused as error:
                check_ready(error)
                if is_denied(error):
                    found.append(permission)
        return found

    async def close(self) -> None:
        """Close the connections."""
        await self._lnd.close()


def _key(order_id: str) -> str:
    """Return what identifies the order's opening, and its locks, at lnd."""
    return base64.b64encode(hashlib.sha256(order_id.encode()).digest()).decode()
