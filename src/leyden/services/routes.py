"""Keeping the gateway's routes what the nodes say they should be."""

import asyncio
from typing import Final

from leyden import logs
from leyden.domain.nodes import Node, Wanted
from leyden.errors import Away, Lost
from leyden.gateway.base import Gateway
from leyden.gateway.routes import Address, Route
from leyden.services.due import Due
from leyden.services.fleet import EVERYTHING, ROUTES, Doors, Fleet

# A change is to be in force within a second: this, and what the gateway takes.
_LOOK_EVERY_S: Final = 0.2

log = logs.get()


class Routes:
    """The routes of all nodes; what did not change is not worked out again."""

    def __init__(self, fleet: Fleet, gateway: Gateway | None = None) -> None:
        self._fleet = fleet
        self._gateway = gateway or fleet.gateway
        self._known: dict[str, tuple[int, Route | None]] = {}

    async def bring(self, work: Due) -> None:
        """Bring the gateway up to date; until it takes them this is tried again."""
        await self.apply()
        try:
            async with work.transaction() as tx:
                await work.done(tx)
        except Lost:
            # Whoever has the task now may have brought newer ones before ours came.
            async with self._fleet.database.transaction() as tx:
                await tx.tasks.put(ROUTES, EVERYTHING, due=self._fleet.clock())
            raise

    async def apply(self) -> None:
        """Give the gateway the routes as they are now."""
        nodes = self._fleet.database.reader.nodes
        editions = await nodes.editions()
        for node_id in self._known.keys() - editions.keys():
            del self._known[node_id]
        for node_id, edition in editions.items():
            known = self._known.get(node_id)
            if known is None or known[0] != edition:
                node = await nodes.get(node_id)
                route = route_to(node, self._fleet.rules.doors)
                self._known[node_id] = (node.edition, route)
        routes = [route for _, route in self._known.values() if route is not None]
        await self._gateway.apply(routes)

    async def follow(self) -> None:
        """Keep the gateway up to date until cancelled, whoever changes the nodes.

        Each replica that gateways ask does so for itself, and no task tells it when.
        """
        told: dict[str, int] | None = None
        while True:
            try:
                editions = await self._fleet.database.reader.nodes.editions()
                if editions != told:
                    await self.apply()
                    told = editions
            except Away as error:
                log.info("routes are not known", why=error.message)
            await asyncio.sleep(_LOOK_EVERY_S)


def route_to(node: Node, doors: Doors) -> Route | None:
    """Give the way to a node; None where nobody is to reach it."""
    if node.wanted is Wanted.DELETED or not node.host:
        return None
    rest = Address(node.host, doors.node_rest)
    grpc = Address(node.host, doors.node_grpc)
    return Route(
        node_id=node.id,
        name=node.api_endpoint,
        whitelist=node.settings.whitelist,
        rest=rest if node.settings.rest else None,
        grpc=grpc if node.settings.grpc else None,
    )
