"""Listen to messages of the seller's peers, in one process of the platform.

lnd passes each message to all subscribers, so two readers would respond and order
twice. One process claims the task, and a reader that has lost the claim can't write.
"""

import asyncio
import logging
import time
from collections import Counter
from contextlib import aclosing
from typing import Final

from leyden.base.http.limits import RateLimit
from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.direct.lsps1.rpc import Rpc
from leyden.channels.direct.lsps1.server import Lsps1
from leyden.channels.direct.messages import Messages, PeerMessage
from leyden.channels.services import ChannelServices
from leyden.errors import Away, LeydenError, TooMany

log = logging.getLogger(__name__)

_AGAIN_S: Final = 1.0
_AT_ONCE: Final = 64
_AT_ONCE_OF_PEER: Final = 8


async def listen(channels: ChannelServices, due: ClaimedTask) -> None:
    """Respond to messages of the seller's peers as long as the task is ours."""
    if channels.messages is None or (rules := channels.rules.lsps1) is None:
        return
    rpc = Rpc(Lsps1(channels))
    await respond(channels.messages, rpc, due, per_minute=rules.messages_per_minute)


async def respond(
    messages: Messages, rpc: Rpc, due: ClaimedTask, *, per_minute: int
) -> None:
    """Respond to messages of an lnd's peers; never return."""
    answering = _Answering(messages, rpc, due, per_minute)
    logged = ""
    async with asyncio.TaskGroup() as group:
        while True:
            try:
                async with aclosing(messages.listen()) as arriving:
                    async for message in arriving:
                        logged = ""
                        answering.take(message, group)
            except Away as error:
                if str(error) != logged:
                    logged = str(error)
                    log.warning("can't follow LSPS clients", extra={"why": logged})
            await asyncio.sleep(_AGAIN_S)


class _Answering:
    """Responses in progress, with limits in total and for each peer."""

    def __init__(
        self, messages: Messages, rpc: Rpc, due: ClaimedTask, per_minute: int
    ) -> None:
        self._rpc = rpc
        self._messages = messages
        self._due = due
        self._limit = RateLimit(per_minute)
        self._of_peer: Counter[str] = Counter()

    def take(self, message: PeerMessage, group: asyncio.TaskGroup) -> None:
        """Start to respond, or drop a message over the limits: its sender retries."""
        peer = message.peer
        if self._of_peer.total() >= _AT_ONCE or self._of_peer[peer] >= _AT_ONCE_OF_PEER:
            return
        try:
            self._limit.take(peer, at_s=time.monotonic())
        except TooMany:
            return
        self._of_peer[peer] += 1
        group.create_task(self._answer(message))

    async def _answer(self, message: PeerMessage) -> None:
        peer = message.peer
        try:
            transaction = self._due.transaction
            answer = await self._rpc.answer(peer, message.data, transaction=transaction)
            if answer is not None and not await self._messages.send(peer, answer):
                log.info("an LSPS client disconnected before the answer")
        except LeydenError as error:
            log.warning("could not answer an LSPS client", extra={"why": str(error)})
        finally:
            self._of_peer[peer] -= 1
            if not self._of_peer[peer]:
                del self._of_peer[peer]
