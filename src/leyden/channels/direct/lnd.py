"""A seller that is an lnd.

lnd has no idempotency key, and goes on opening when its caller is gone. So a channel is
found by its memo, an opening that the peer has not answered by its locked coins, and
its publication by the wallet's own transactions: `chan_pending` alone does not mean
that the funding transaction was accepted anywhere. What becomes of that transaction is
in lnd_fundings.py.
"""

import asyncio
import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from leyden.base.rules.units import Sats
from leyden.channels.direct.base import BumpRefused, WantedOpening
from leyden.channels.direct.connection import SellerConnection, check_ready
from leyden.channels.direct.lnd_fundings import LndFundings
from leyden.channels.direct.rules.fundings import WalletTransaction
from leyden.channels.direct.rules.jit import scid_text
from leyden.channels.direct.rules.openings import (
    ClosedChannel,
    Coin,
    Opening,
    OpeningRefused,
    OpeningState,
    SellerWallet,
)
from leyden.channels.rules.payments import Outpoint
from leyden.errors import NodeRefused
from leyden.nodes.lnd.connection import LndAccess

# A funding transaction of ours is looked for among the newest blocks' and those that
# no block has.
_WINDOW: Final = 2_016
_SOON_BLOCKS: Final = 6
_WEIGHT_PER_VBYTE: Final = 4
_KILO: Final = 1_000
_DIAL_S: Final = 10
_OFFLINE: Final = "is not online"
_REACHABLE: Final = "/v1/channels?active_only=true&public_only=true"
_UNSPENT: Final = "/v1/utxos?min_confs=1&max_confs=2147483647"
# What spends the funding transaction is in a block for these, so that one is too.
_CLOSED_IN_BLOCK: Final = "pending_force_closing_channels"
_CLOSING: Final = ("waiting_close_channels", _CLOSED_IN_BLOCK)


def features_of(
    pubkey: str, peers: Iterable[Mapping[str, Any]]
) -> frozenset[int] | None:
    """Return the feature bits that lnd lists for a peer.

    It lists a peer before the two have told each other what they can: then none.
    """
    for each in peers:
        if each["pub_key"] == pubkey:
            return frozenset(int(bit) for bit in each.get("features", ())) or None
    return None


def opening_of(wanted: WantedOpening) -> dict[str, Any]:
    """Return what lnd is asked for, without its coins and their fee."""
    body: dict[str, Any] = {
        "node_pubkey": base64.b64encode(bytes.fromhex(wanted.pubkey)).decode(),
        "local_funding_amount": str(wanted.capacity),
        "private": not wanted.announce,
        "commitment_type": "ANCHORS",
        "memo": wanted.order_id,
    }
    if wanted.zero_conf:
        body |= {"zero_conf": True, "scid_alias": True}
    if wanted.max_local_csv:
        body["max_local_csv"] = wanted.max_local_csv
    return body


def outpoints_of(coins: Iterable[Coin]) -> list[dict[str, Any]]:
    """Return coins as lnd wants them."""
    return [
        {"txid_str": coin.outpoint.txid, "output_index": coin.outpoint.vout}
        for coin in coins
    ]


def point_of(pending: Mapping[str, Any]) -> str:
    """Return the channel point of an opening that both have signed."""
    txid = base64.b64decode(pending["txid"])[::-1].hex()
    return f"{txid}:{int(pending.get('output_index', 0))}"


def outpoint_of(outpoint: Mapping[str, Any]) -> Outpoint:
    """Return one of lnd's outpoints."""
    return Outpoint(str(outpoint["txid_str"]), int(outpoint.get("output_index", 0)))


class LndSeller:
    """An lnd with a wallet of its own; never the treasury."""

    def __init__(self, access: LndAccess) -> None:
        self._lnd = SellerConnection(access)
        self._fundings = LndFundings(self._lnd)

    async def wallet(self) -> SellerWallet:
        """Return the seller's keys, coins and chain."""
        info, unspent, balance, fee, connected = await asyncio.gather(
            self._lnd.call_or_away("GET", "/v1/getinfo"),
            self._lnd.call_or_away("GET", _UNSPENT),
            self._lnd.call_or_away("GET", "/v1/balance/blockchain"),
            self._lnd.call_or_away("GET", f"/v2/wallet/estimatefee/{_SOON_BLOCKS}"),
            self._lnd.call_or_away("GET", "/v1/peers"),
        )
        uris = [str(each) for each in info.get("uris", ())]
        least, rate = int(fee.get("min_relay_fee_sat_per_kw", 0)), fee["sat_per_kw"]
        return SellerWallet(
            pubkey=str(info["identity_pubkey"]),
            uri=next(iter(uris), str(info["identity_pubkey"])),
            height=int(info["block_height"]),
            synced=bool(info["synced_to_chain"]),
            coins=tuple(_coin(each) for each in unspent["utxos"]),
            unconfirmed=Sats(int(balance["unconfirmed_balance"])),
            locked=Sats(int(balance.get("locked_balance", 0))),
            fee_sat_per_vb=-(-max(int(rate), least) * _WEIGHT_PER_VBYTE // _KILO),
            features=frozenset(int(bit) for bit in info.get("features", ())),
            peers=frozenset(
                str(each["pub_key"])
                for each in connected["peers"]
                if each.get("features")
            ),
        )

    async def connect(self, pubkey: str, addresses: Sequence[str]) -> bool:
        """Return whether the peer is connected; dial it if it is not."""
        response = await self._lnd.call_or_away("GET", "/v1/peers")
        if any(each["pub_key"] == pubkey for each in response["peers"]):
            return True
        for address in addresses:
            peer = {"pubkey": pubkey, "host": address}
            request = {"addr": peer, "timeout": str(_DIAL_S)}
            try:
                await self._lnd.call("POST", "/v1/peers", request)
            except NodeRefused as error:
                if "already connected" not in error.message:
                    continue
            return True
        return False

    async def features(self, pubkey: str) -> frozenset[int] | None:
        """Return the feature bits of a connected peer; None while they are unknown."""
        response = await self._lnd.call_or_away("GET", "/v1/peers")
        return features_of(pubkey, response["peers"])

    async def find(self, order_id: str, coins: Sequence[Coin]) -> Opening:
        """Look for the channel by its memo, then for an opening by its coins."""
        # One after the other, in the order in which an opening proceeds: else it could
        # leave one list, and be missed in the next.
        leases = await self._lnd.call_or_away("POST", "/v2/wallet/utxos/leases", {})
        pending = await self._lnd.call_or_away("GET", "/v1/channels/pending")
        opened = await self._lnd.call_or_away("GET", "/v1/channels")
        for channel in opened["channels"]:
            if channel.get("memo") == order_id:
                point = str(channel["channel_point"])
                return await self._signed_opening(
                    point, confirmed=_is_confirmed(channel)
                )
        for each in pending["pending_open_channels"]:
            if each["channel"].get("memo") == order_id:
                return await self._signed_opening(str(each["channel"]["channel_point"]))
        for kind in _CLOSING:  # opened, and on its way out
            for each in pending[kind]:
                if each["channel"].get("memo") == order_id:
                    point = str(each["channel"]["channel_point"])
                    return await self._signed_opening(
                        point, confirmed=kind == _CLOSED_IN_BLOCK
                    )
        locked = {outpoint_of(each["outpoint"]) for each in leases["locked_utxos"]}
        if any(coin.outpoint in locked for coin in coins):
            return Opening(state=OpeningState.UNDECIDED)
        if point := await self._closed_point({coin.outpoint for coin in coins}):
            return await self._signed_opening(point, confirmed=True)
        return Opening(state=OpeningState.NONE)

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        """Ask lnd for the channel, and wait until both have signed it."""
        body = opening_of(wanted) | {
            "sat_per_vbyte": str(wanted.fee_sat_per_vb),
            "min_confs": 1,
            "outpoints": outpoints_of(wanted.coins),
        }
        stream = self._lnd.stream("POST", "/v1/channels/stream", body)
        try:
            async with aclosing(stream) as updates:
                async for update in updates:
                    if (pending := update.get("chan_pending")) is not None:
                        return await self._signed_opening(point_of(pending))
        except NodeRefused as error:
            check_ready(error)
            return OpeningRefused(
                error.message[:400], offline=_OFFLINE in error.message
            )
        return OpeningRefused("the seller's lnd ended the call without an answer")

    async def closed(self) -> list[ClosedChannel]:
        """List channels that are closed, or being closed."""
        closed, pending = await asyncio.gather(
            self._closed_channels(),
            self._lnd.call_or_away("GET", "/v1/channels/pending"),
        )
        channels = [
            ClosedChannel(
                point=str(channel["channel_point"]),
                height=int(channel["close_height"]),
            )
            for channel in closed
        ]
        for kind in _CLOSING:
            for channel in pending[kind]:
                point = str(channel["channel"]["channel_point"])
                channels.append(ClosedChannel(point=point, height=0))
        return channels

    async def channel_ids(self, pubkey: str) -> dict[str, str]:
        """Return the short channel ids of a node's open, confirmed channels."""
        peer = base64.urlsafe_b64encode(bytes.fromhex(pubkey)).decode()
        response = await self._lnd.call_or_away("GET", f"/v1/channels?peer={peer}")
        found = {}
        for channel in response["channels"]:
            # lnd calls a channel by its alias until it is confirmed.
            field = "zero_conf_confirmed_scid" if channel["zero_conf"] else "chan_id"
            if number := int(channel[field]):
                found[str(channel["channel_point"])] = scid_text(number)
        return found

    async def spending(
        self, coins: Collection[Outpoint], *, since: int
    ) -> list[WalletTransaction]:
        """List what spends these coins, and what spends the change of that."""
        return await self._fundings.spending(coins, since=since)

    async def bump(self, outpoint: Outpoint, fee: Sats) -> BumpRefused | None:
        """Spend the output with exactly that fee."""
        return await self._fundings.bump(outpoint, fee)

    async def denied(self) -> list[str]:
        """List the permissions for fundings that our macaroon lacks."""
        return await self._fundings.denied()

    async def inbound(self) -> Sats:
        """Add up the remote balances of announced channels whose peer is online."""
        response = await self._lnd.call_or_away("GET", _REACHABLE)
        return Sats(sum(int(each["remote_balance"]) for each in response["channels"]))

    async def address(self) -> str:
        """Return a new address of the wallet."""
        response = await self._lnd.call_or_away(
            "GET", "/v1/newaddress?type=TAPROOT_PUBKEY"
        )
        return str(response["address"])

    async def close(self) -> None:
        """Close the connections to the seller."""
        await self._lnd.close()

    async def _closed_point(self, coins: Collection[Outpoint]) -> str:
        """Return the closed channel that these coins opened; "" if there is none.

        lnd forgets the memo of a channel once its closing is confirmed.
        """
        unspent = await self._lnd.call_or_away("GET", _UNSPENT)
        found = {outpoint_of(each["outpoint"]) for each in unspent["utxos"]}
        if found.issuperset(coins):
            return ""
        info = await self._lnd.call_or_away("GET", "/v1/getinfo")
        since = max(0, int(info["block_height"]) - _WINDOW)
        spending = {
            each["tx_hash"]
            for each in await self._lnd.transactions(since)
            for spent in each["previous_outpoints"]
            if Outpoint.parse(spent["outpoint"]) in coins
        }
        for channel in await self._closed_channels():
            point = str(channel["channel_point"])
            if point.partition(":")[0] in spending:
                return point
        return ""

    async def _closed_channels(self) -> list[dict[str, Any]]:
        """List channels whose closing is confirmed, without those that never opened."""
        response = await self._lnd.call_or_away("GET", "/v1/channels/closed")
        return [
            channel
            for channel in response["channels"]
            if channel["close_type"] not in {"FUNDING_CANCELED", "ABANDONED"}
        ]

    async def _signed_opening(
        self, channel_point: str, *, confirmed: bool = False
    ) -> Opening:
        """Return a signed opening, and whether its transaction is published."""
        info = await self._lnd.call_or_away("GET", "/v1/getinfo")
        height = int(info["block_height"])
        transactions = await self._lnd.transactions(max(0, height - _WINDOW))
        txid = channel_point.partition(":")[0]
        fees = [
            int(each["total_fees"]) for each in transactions if each["tx_hash"] == txid
        ]
        published = confirmed or bool(fees)
        return Opening(
            state=OpeningState.PUBLISHED if published else OpeningState.UNPUBLISHED,
            channel_point=channel_point,
            fee=Sats(fees[0]) if fees else None,
            height=height,
        )


def _is_confirmed(channel: dict[str, Any]) -> bool:
    """Return whether an open channel's transaction is in a block.

    One without confirmations is open from its signing on, published or not.
    """
    return not channel.get("zero_conf") or bool(
        int(channel.get("zero_conf_confirmed_scid", 0))
    )


def _coin(utxo: dict[str, Any]) -> Coin:
    return Coin(
        sats=Sats(int(utxo["amount_sat"])), outpoint=outpoint_of(utxo["outpoint"])
    )
