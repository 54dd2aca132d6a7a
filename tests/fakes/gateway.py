"""A gateway without a listener: it knows the routes and lets nobody in.

For tests of code that applies routes. It does not test whitelists.
"""

import asyncio
from collections.abc import Iterable

from leyden.errors import Away
from leyden.nodes.gateway.base import Traffic
from leyden.nodes.gateway.routes import (
    Listener,
    Route,
    UpstreamAddress,
    filter_chains,
    table,
)
from leyden.values import replace


class FakeGateway:
    """A fake gateway that exposes the routes in force to a test."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.changes = 0
        self.counted: dict[str, Traffic] = {}
        self.away = False  # set it to have `apply` fail
        self.is_elsewhere = False  # set it to have no traffic known
        self.taken: set[int] = set()  # the peer ports that another program has

    async def start(self) -> None:
        """Do nothing: it runs for as long as the test does."""

    async def run(self) -> None:
        """Look after nothing until cancelled."""
        await asyncio.Event().wait()

    async def apply(self, routes: Iterable[Route]) -> None:
        """Replace all routes; applying the same routes again changes nothing."""
        wanted = {route.node_id: route for route in table(routes)}
        if self.away:
            raise Away("the gateway has not taken the routes")
        blocked = await self.blocked(wanted.values())
        for node_id in blocked:
            wanted[node_id] = replace(wanted[node_id], peers=None)
        if wanted != self.routes:
            self.routes = wanted
            self.changes += 1
        if blocked:
            raise Away("peers cannot connect")

    async def blocked(self, routes: Iterable[Route]) -> dict[str, int]:
        """Return the peer ports of routes that a test has taken, by node id."""
        return {
            route.node_id: route.peers.port
            for route in routes
            if route.peers and route.peers.port in self.taken
        }

    async def traffic(self) -> dict[str, Traffic] | None:
        """Return the traffic that a test has put there, unless it is elsewhere."""
        if self.is_elsewhere:
            return None
        return {i: self.counted.get(i, Traffic()) for i in self.routes}

    def resolve(self, name: str, listener: Listener) -> UpstreamAddress | None:
        """Return where a name leads to; None when nobody gets in by it."""
        request = name.lower()
        for route in self.routes.values():
            for chain in filter_chains(route, listener):
                if request in chain.names:
                    return chain.to
        return None
