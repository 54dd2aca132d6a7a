"""Messages of peers in memory: what they send, and what they are sent."""

import asyncio
from collections.abc import AsyncGenerator

from leyden.channels.direct.messages import LONGEST, PeerMessage
from leyden.errors import SellerAway


class FakeMessages:
    """The seller's peers, for the length of a test."""

    def __init__(self) -> None:
        self.online: set[str] = set()
        self.sent: asyncio.Queue[PeerMessage] = asyncio.Queue()
        self._listening: list[asyncio.Queue[PeerMessage | None]] = []

    @property
    def listeners(self) -> int:
        """How many listen: each of them gets each message."""
        return len(self._listening)

    async def listen(self) -> AsyncGenerator[PeerMessage, None]:
        """Yield messages from now on."""
        queue: asyncio.Queue[PeerMessage | None] = asyncio.Queue()
        self._listening.append(queue)
        try:
            while (message := await queue.get()) is not None:
                yield message
            raise SellerAway(retry_after_s=1)
        finally:
            self._listening.remove(queue)

    async def send(self, peer: str, data: bytes) -> bool:
        """Send a message to a peer that is online."""
        if len(data) > LONGEST:
            raise ValueError("no message is as long as this")
        if peer not in self.online:
            return False
        self.sent.put_nowait(PeerMessage(peer, data))
        return True

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    # What peers do.

    def arrive(self, peer: str, data: bytes) -> None:
        """Let a message of a peer arrive; it is lost if nobody listens."""
        self.online.add(peer)
        for queue in self._listening:
            queue.put_nowait(PeerMessage(peer, data))

    def break_off(self) -> None:
        """End the streams of all who listen."""
        for queue in self._listening:
            queue.put_nowait(None)
