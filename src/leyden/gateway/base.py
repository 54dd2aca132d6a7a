"""What the platform wants of a gateway, whichever one it is."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from leyden.gateway.routes import Route
from leyden.values import Struct


class Traffic(Struct, frozen=True):
    """What went to and from one node since its route, or the gateway, was new."""

    connections: int = 0
    bytes_in: int = 0  # from its callers
    bytes_out: int = 0  # to them


class Gateway(Protocol):
    """The one way in to every node."""

    async def apply(self, routes: Iterable[Route]) -> None:
        """Make these the routes, all of them; the same ones again change nothing.

        Connections that a route or whitelist admits no longer are cut, others are not
        touched. Raises `Away` when the gateway did not take them: then it goes on with
        the ones from before, and the caller tries again.
        """
        ...

    async def traffic(self) -> Mapping[str, Traffic]:
        """Give the figures by node id, of nodes with a route; empty if unknown."""
        ...
