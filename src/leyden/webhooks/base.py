"""What it takes to call a receiver: whoever can do this can deliver webhooks."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from leyden.domain.deliveries import Answer


class Line(Protocol):
    """A line to one receiver, open for as long as there is something to tell it."""

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send one event and give what came back; a failure is an answer, too.

        Nothing is raised for what a receiver or the network does. `Service-Secret`
        does not show in the excerpt, even when the receiver echoes it.
        """
        ...


class Sender(Protocol):
    """Opens lines."""

    def open(self, url: str, organization_id: str) -> AbstractAsyncContextManager[Line]:
        """Open a line for an organization; call nobody before there is an event."""
        ...
