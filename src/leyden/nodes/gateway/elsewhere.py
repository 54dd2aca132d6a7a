"""A stand-in for gateways on other machines, which poll the API for routes."""

import asyncio
from collections.abc import Iterable

from leyden.nodes.gateway.routes import Route


class GatewayElsewhere:
    """A gateway that is run elsewhere: there is nothing to start or update here."""

    async def start(self) -> None:
        """Start nothing."""

    async def run(self) -> None:
        """Supervise nothing, until cancelled."""
        await asyncio.Event().wait()

    async def apply(self, routes: Iterable[Route]) -> None:
        """Do nothing: the gateways poll the API servers."""

    async def blocked(self, routes: Iterable[Route]) -> dict[str, int]:
        """Return nothing: those ports are on other machines."""
        del routes
        return {}

    async def traffic(self) -> None:
        """Return that nothing is known: each of those gateways counts its own."""
