"""Updating the gateway's routes from the nodes."""

import asyncio
import contextlib
import logging
from collections.abc import Collection, Mapping

from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import Away, Lost
from leyden.nodes.fleet import EVERYTHING, ROUTES, Fleet, GatewayPorts
from leyden.nodes.gateway.base import Router
from leyden.nodes.gateway.routes import PeerPort, Route, UpstreamAddress
from leyden.nodes.rules.nodes import DesiredState, Node

log = logging.getLogger(__name__)


class Routes:
    """The routes of all nodes, rebuilt for nodes that changed."""

    def __init__(self, fleet: Fleet, gateway: Router | None = None) -> None:
        self._fleet = fleet
        self._gateway: Router = gateway or fleet.gateway
        self._known: dict[str, tuple[int, Route | None]] = {}

    async def update(self, work: ClaimedTask) -> None:
        """Update the gateway; the task is retried until the gateway accepts."""
        await self.apply()
        try:
            async with work.transaction() as tx:
                await work.done(tx)
        except Lost:
            # The new holder of the task may have applied newer routes before ours.
            async with self._fleet.database.transaction() as tx:
                await tx.tasks.put(ROUTES, EVERYTHING, due=self._fleet.clock())
            raise

    async def apply(self) -> None:
        """Send the current routes to the gateway."""
        fleet = self._fleet
        nodes = await fleet.node_cache.nodes(fleet.database.reader.nodes)
        self._known = {node.id: self._route_of(node) for node in nodes}
        routes = [route for _, route in self._known.values() if route is not None]
        await self._gateway.apply(routes)

    def _route_of(self, node: Node) -> tuple[int, Route | None]:
        """Return a node's edition and route, made once for each edition."""
        known = self._known.get(node.id)
        if known is not None and known[0] == node.edition:
            return known
        return node.edition, route_to(node, self._fleet.rules.ports)

    async def follow(self) -> None:
        """Update the gateway until cancelled, whichever process changes the nodes.

        Each replica that serves gateways does this by itself. Its updates are not
        tasks, but a queued ROUTES task wakes it.
        """
        applied: dict[str, int] | None = None
        awake, database = asyncio.Event(), self._fleet.database

        def wake(kinds: Collection[str] | None) -> None:
            if kinds is None or ROUTES in kinds:
                awake.set()

        database.listen(wake)
        while True:
            awake.clear()
            try:
                editions = await self._fleet.database.reader.nodes.editions()
                if editions != applied:
                    await self.apply()
                    applied = editions
            except Away as error:
                log.info("can't load routes", extra={"why": error.message})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(database.look_every_s):
                    await awake.wait()


async def blocked(fleet: Fleet) -> Mapping[str, int]:
    """Return the peer ports that another program has on this machine, by node id."""
    nodes = await fleet.node_cache.nodes(fleet.database.reader.nodes)
    routes = [
        route
        for node in nodes
        if node.open_peer_port
        and (route := route_to(node, fleet.rules.ports)) is not None
    ]
    return await fleet.gateway.blocked(routes)


def route_to(node: Node, ports: GatewayPorts) -> Route | None:
    """Return the route to a node; None if the node must not be reachable."""
    if node.wanted is DesiredState.DELETED or not node.host:
        return None
    rest = UpstreamAddress(node.host, ports.node_rest)
    grpc = UpstreamAddress(node.host, ports.node_grpc)
    return Route(
        node_id=node.id,
        name=node.api_endpoint,
        whitelist=node.settings.whitelist,
        rest=rest if node.settings.rest else None,
        grpc=grpc if node.settings.grpc else None,
        peers=_peers(node, ports),
    )


def _peers(node: Node, ports: GatewayPorts) -> PeerPort | None:
    if not node.open_peer_port or not ports.peer_host:
        return None
    return PeerPort(
        port=node.open_peer_port, to=UpstreamAddress(node.host, ports.node_peer)
    )
