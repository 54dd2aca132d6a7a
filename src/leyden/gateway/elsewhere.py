"""No gateway on this machine: those elsewhere ask the API for their routes."""

import asyncio
from collections.abc import Iterable

from leyden.gateway.routes import Route


class GatewayElsewhere:
    """A gateway that others run: there is nothing to start, and nothing to tell."""

    async def start(self) -> None:
        """Start nothing."""

    async def run(self) -> None:
        """Supervise nothing, until cancelled."""
        await asyncio.Event().wait()

    async def apply(self, routes: Iterable[Route]) -> None:
        """Do nothing: gateways are told by the API servers, once they ask."""

    async def traffic(self) -> None:
        """Return that nothing is known: each of those gateways counts its own."""
