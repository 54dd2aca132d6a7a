"""A channel acceptor that accepts zero-conf channels from one peer.

lnd asks its channel acceptors about every channel that a peer wants to open. It accepts
a zero-conf channel only if an acceptor allows it. This acceptor allows it to one peer,
which the node's owner trusts. For all other channels it answers what lnd does without
an acceptor.
"""

import base64
import json
from collections.abc import Callable
from typing import Any, Final

import aiohttp

from leyden.errors import NodeAway, NodeRefused
from leyden.nodes.lnd.client import Lnd

_PATH: Final = "/v1/channels/acceptor"


async def accept_from(
    lnd: Lnd, peer: str, *, macaroon: str, ready: Callable[[], object] = lambda: None
) -> None:
    """Accept zero-conf channels from a peer until cancelled.

    Raise NodeAway if lnd closes the stream. `ready` is called once the stream is open:
    lnd does not confirm that it registered the acceptor.
    """
    async with lnd.socket(_PATH, macaroon=macaroon) as socket:
        ready()
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                break
            request = json.loads(message.data)
            if "result" not in request:
                why = (request.get("error") or {}).get("message", "no reason")
                raise NodeRefused(f"the node does not let you accept channels: {why}")
            await socket.send_json(answer(request["result"], peer))
    raise NodeAway("the node closed the channel acceptor stream")


def answer(request: dict[str, Any], peer: str) -> dict[str, Any]:
    """Return the response to lnd's request to accept a channel of a peer."""
    wants = bool(request.get("wants_zero_conf"))
    trusted = base64.b64decode(request["node_pubkey"]).hex() == peer
    response = {
        "pending_chan_id": request["pending_chan_id"],
        "accept": trusted or not wants,
        "zero_conf": trusted and wants,
    }
    if not response["accept"]:
        response["error"] = "zero-conf channels are accepted from one peer only"
    return response
