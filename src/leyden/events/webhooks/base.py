"""The interface for calling receivers, which webhook delivery needs."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from leyden.events.rules.deliveries import Answer


class ReceiverConnection(Protocol):
    """A connection to one receiver, open as long as events are sent."""

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send an event and return the answer; a failure is an answer, too.

        Never raise for what a receiver or the network does. `Service-Secret` is
        removed from the excerpt, even if the receiver echoes it.
        """
        ...


class Sender(Protocol):
    """Opens connections to receivers."""

    def open(
        self, url: str, organization_id: str
    ) -> AbstractAsyncContextManager[ReceiverConnection]:
        """Open a connection for the block; call nobody before the first event."""
        ...
