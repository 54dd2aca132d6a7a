"""A node's owner lets a channel in that is usable before it is confirmed.

lnd asks its channel acceptors about every channel that a peer wants to open, and takes
none without confirmations unless one of them says so. Ours says so to one peer, which
its owner trusts for that; to everything else it says what lnd does without an acceptor.
"""

import base64
import json
from collections.abc import Callable
from typing import Any, Final

import aiohttp

from leyden.errors import NodeAway, NodeRefused
from leyden.lnd.client import Lnd

_PATH: Final = "/v1/channels/acceptor"


async def accept_from(
    lnd: Lnd, peer: str, *, macaroon: str, ready: Callable[[], object] = lambda: None
) -> None:
    """Accept such channels from a peer until cancelled; raise NodeAway if lnd goes.

    `ready` is called once lnd has taken the call, as far as anybody can tell.
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


def answer(asked: dict[str, Any], peer: str) -> dict[str, Any]:
    """Return what lnd is answered about a channel that somebody wants to open."""
    wants = bool(asked.get("wants_zero_conf"))
    trusted = base64.b64decode(asked["node_pubkey"]).hex() == peer
    said = {
        "pending_chan_id": asked["pending_chan_id"],
        "accept": trusted or not wants,
        "zero_conf": trusted and wants,
    }
    if not said["accept"]:
        said["error"] = "zero-conf channels are accepted from one peer only"
    return said
