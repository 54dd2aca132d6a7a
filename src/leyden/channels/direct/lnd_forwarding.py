"""What the purse's lnd forwards, and its questions before it does.

The questions come over a WebSocket, one for each lnd at a time. lnd asks again about
everything that it holds whenever one is opened, also about what it had forwarded before
it restarted.
"""

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final

import aiohttp

from leyden.base.rules.units import Sats
from leyden.channels.direct.connection import SellerConnection
from leyden.channels.direct.rules.jit import (
    CircuitKey,
    Forward,
    HeldHtlc,
    HtlcAnswer,
    JitChannel,
)
from leyden.errors import SellerAway
from leyden.nodes.lnd.connection import LndAccess

_INTERCEPTOR: Final = "/v2/router/htlcinterceptor"
# The TLV in which a node is told what was taken of an HTLC (bLIP-25).
_EXTRA_FEE: Final = "65537"
_PAGE: Final = 1_000
# The history is in the order of lnd's clock.
_MARGIN_S: Final = 600


class LndForwarding:
    """The forwards of one lnd."""

    def __init__(self, access: LndAccess) -> None:
        self._lnd = SellerConnection(access)

    @asynccontextmanager
    async def intercept(self) -> AsyncIterator["LndInterception"]:
        """Connect for the block."""
        async with self._lnd.socket(_INTERCEPTOR) as socket:
            yield LndInterception(socket)

    async def channels(self) -> list[JitChannel]:
        """List the open channels."""
        response = await self._lnd.call_or_away("GET", "/v1/channels")
        return [_channel(each) for each in response["channels"]]

    async def add_alias(self, channel: JitChannel, scid: int) -> None:
        """Add the alias; lnd keeps it, also after a restart."""
        aliases = {"base_scid": str(channel.scid), "aliases": [str(scid)]}
        await self._lnd.call_or_away(
            "POST", "/v2/router/x/addaliases", {"alias_maps": [aliases]}
        )

    async def forwards(self, since: datetime) -> list[Forward]:
        """Read the history, which lnd writes down before it answers."""
        start = str(max(1, int(since.timestamp()) - _MARGIN_S))
        found: list[Forward] = []
        offset = 0
        while True:
            response = await self._lnd.call_or_away(
                "POST",
                "/v1/switch",
                {"start_time": start, "index_offset": offset, "num_max_events": _PAGE},
            )
            events = response.get("forwarding_events", [])
            found += map(_forward, events)
            if len(events) < _PAGE:
                return found
            offset = int(response["last_offset_index"])

    async def close(self) -> None:
        """Close the connections."""
        await self._lnd.close()


class LndInterception:
    """One connection of an interceptor."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def htlcs(self) -> AsyncGenerator[HeldHtlc, None]:
        """Yield what lnd asks about."""
        async for message in self._socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                break  # lnd was silent for too long
            asked = json.loads(message.data)
            if "result" not in asked:
                why = (asked.get("error") or {}).get("message", "no reason given")
                raise SellerAway(why=f"the purse's lnd: {why}", retry_after_s=1)
            yield _held(asked["result"])
        raise SellerAway(why="the purse's lnd closed the interceptor", retry_after_s=1)

    async def answer(self, answer: HtlcAnswer) -> None:
        """Send the answer."""
        circuit = answer.circuit
        body: dict[str, object] = {
            "incoming_circuit_key": {
                "chan_id": circuit.chan_id,
                "htlc_id": circuit.htlc_id,
            },
            "action": "RESUME",
        }
        if answer.fails:
            body |= {"action": "FAIL", "failure_code": "TEMPORARY_CHANNEL_FAILURE"}
        elif answer.out_msat is not None:
            taken = base64.b64encode(answer.take_msat.to_bytes(8, "big")).decode()
            body |= {
                "action": "RESUME_MODIFIED",
                "out_amount_msat": str(answer.out_msat),
                "out_wire_custom_records": {_EXTRA_FEE: taken},
            }
        try:
            await self._socket.send_json(body)
        except (aiohttp.ClientError, ConnectionError) as error:
            raise SellerAway(
                why="the purse's lnd closed the interceptor", retry_after_s=1
            ) from error


def _held(asked: dict[str, Any]) -> HeldHtlc:
    """Read a question.

    A payer may ask to forward more than was sent, so that what we take is missing:
    lnd only looks at its own fee once the amount is changed. What arrived counts.
    """
    circuit = asked["incoming_circuit_key"]
    amounts = asked["outgoing_amount_msat"], asked["incoming_amount_msat"]
    return HeldHtlc(
        circuit=CircuitKey(str(circuit["chan_id"]), str(circuit.get("htlc_id", "0"))),
        scid=int(asked["outgoing_requested_chan_id"]),
        payment_hash=base64.b64decode(asked["payment_hash"]).hex(),
        amount_msat=min(map(int, amounts)),
    )


def _channel(channel: dict[str, Any]) -> JitChannel:
    confirmed = int(channel.get("zero_conf_confirmed_scid", 0))
    return JitChannel(
        order_id=str(channel.get("memo", "")),
        peer=str(channel["remote_pubkey"]),
        point=str(channel["channel_point"]),
        scid=int(channel["chan_id"]),
        active=bool(channel["active"]),
        zero_conf=bool(channel.get("zero_conf")),
        aliases=frozenset(map(int, channel.get("alias_scids", ())))
        | ({confirmed} if confirmed else set()),
        pending=_hashes(channel, incoming=False),
        arriving=_hashes(channel, incoming=True),
        received=Sats(int(channel.get("total_satoshis_received", 0))),
        remote=Sats(int(channel.get("remote_balance", 0))),
        settled=not channel.get("pending_htlcs"),
    )


def _hashes(channel: dict[str, Any], *, incoming: bool) -> frozenset[str]:
    return frozenset(
        base64.b64decode(each["hash_lock"]).hex()
        for each in channel.get("pending_htlcs", ())
        if bool(each.get("incoming")) is incoming
    )


def _forward(event: dict[str, Any]) -> Forward:
    circuit = CircuitKey(
        str(event["chan_id_in"]), str(event.get("incoming_htlc_id", "0"))
    )
    return Forward(
        circuit,
        fee_msat=int(event["fee_msat"]),
        scid=int(event["chan_id_out"]),
        in_msat=int(event["amt_in_msat"]),
        out_msat=int(event["amt_out_msat"]),
    )
