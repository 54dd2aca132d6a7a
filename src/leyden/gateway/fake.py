"""A gateway without a door: it knows the routes and lets nobody in.

For tests of whoever applies routes. It proves nothing about whitelists.
"""

from collections.abc import Iterable

from leyden.errors import Away
from leyden.gateway.base import Traffic
from leyden.gateway.routes import Address, Door, Route, passages, table


class FakeGateway:
    """Keeps the routes in force where a test can see them."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.changes = 0
        self.figures: dict[str, Traffic] = {}
        self.away = False  # set it to have `apply` fail

    async def apply(self, routes: Iterable[Route]) -> None:
        """Make these the routes, all of them; the same ones again change nothing."""
        wanted = {route.node_id: route for route in table(routes)}
        if self.away:
            raise Away("the gateway has not taken the routes")
        if wanted != self.routes:
            self.routes = wanted
            self.changes += 1

    async def traffic(self) -> dict[str, Traffic]:
        """Give the figures that a test has put there."""
        return {i: self.figures.get(i, Traffic()) for i in self.routes}

    def leads(self, name: str, door: Door) -> Address | None:
        """Say where a name leads to; None when nobody gets in by it."""
        asked = name.lower()
        for route in self.routes.values():
            for passage in passages(route, door):
                if asked in passage.names:
                    return passage.to
        return None
