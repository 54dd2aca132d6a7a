"""Letting a channel in that is usable before it confirms, while its order goes on.

Only the node's owner can: the call takes a macaroon. It is made beside the waiting, in
a thread, and made anew whenever the node was away.

lnd asks its channel acceptors about every channel that a peer wants to open. It accepts
a zero-conf channel only if an acceptor allows it. This one allows it to the seller, and
answers for all other channels what lnd does without an acceptor.
"""

import asyncio
import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import aiohttp
import msgspec

from leyden.customer.channel_options import Recipient
from leyden.customer.session import ApiSession
from leyden.errors import Conflict, LeydenError, NodeAway, NodeRefused
from leyden.lnd.trust import trusting
from leyden.nodes.lnd.client import LndClient, connect
from leyden.nodes.lnd.states import TlsAddress
from leyden.schemas.flow import OrderAnswer
from leyden.schemas.nodes import NodeItem

_AGAIN_S = 1.0
_READY_WITHIN_S = 30.0
_PATH: Final = "/v1/channels/acceptor"


@contextlib.contextmanager
def zero_conf(session: ApiSession, to: Recipient, order: OrderAnswer) -> Iterator[None]:
    """Accept the order's channel while inside, from the seller alone."""
    if to.node is None or order.seller_uri is msgspec.UNSET or not order.seller_uri:
        raise Conflict("the platform does not name the node that opens the channel")
    peer = order.seller_uri.partition("@")[0]
    with zero_conf_from(session, to.node, peer, macaroon=to.macaroon):
        yield


@contextlib.contextmanager
def zero_conf_from(
    session: ApiSession, node: NodeItem, peer: str, *, macaroon: str
) -> Iterator[None]:
    """Accept zero-conf channels while inside, from one peer alone."""
    trusted = session.profile.authority or session.client.nodes.certificate(
        node.node_id
    )
    one = _Accepting(
        TlsAddress(*session.client.rest_address(node.node_id), node.api_endpoint),
        authority=trusted,
        peer=peer,
        macaroon=macaroon,
    )
    one.start()
    try:
        yield
    finally:
        one.stop()


class _Accepting:
    """The owner's answers to a node, given in a thread."""

    def __init__(
        self, address: TlsAddress, *, authority: str, peer: str, macaroon: str
    ) -> None:
        self._address, self._tls = address, trusting(authority)
        self._peer, self._macaroon = peer, macaroon
        self._ready = threading.Event()
        self._why: LeydenError | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Return once the node asks us; raise if it does not."""
        self._thread.start()
        ready = self._ready.wait(_READY_WITHIN_S)
        if self._why is not None or not ready:
            self.stop()
            raise self._why or NodeAway("the node does not respond")

    def stop(self) -> None:
        """End the call."""
        with contextlib.suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._end)
        self._thread.join(_READY_WITHIN_S)

    def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        with contextlib.closing(self._loop) as loop:
            self._task = loop.create_task(self._accept())
            with contextlib.suppress(asyncio.CancelledError):
                loop.run_until_complete(self._task)

    async def _accept(self) -> None:
        while True:
            try:
                async with connect(self._address, self._tls) as lnd:
                    await accept_from(
                        lnd,
                        self._peer,
                        macaroon=self._macaroon,
                        ready=self._ready.set,
                    )
            except NodeAway:
                await asyncio.sleep(_AGAIN_S)
            except LeydenError as error:
                self._why = error
                self._ready.set()
                return


async def accept_from(
    lnd: LndClient,
    peer: str,
    *,
    macaroon: str,
    ready: Callable[[], object] = lambda: None,
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
