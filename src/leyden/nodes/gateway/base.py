"""The interface of every gateway."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Protocol

from leyden.nodes.gateway.routes import Route
from leyden.values import Struct


class Traffic(Struct, frozen=True):
    """A node's bytes sent and received since its route or gateway began."""

    connections: int = 0
    bytes_in: int = 0  # from its callers
    bytes_out: int = 0  # to them


class Router(Protocol):
    """The part of a gateway that applies routes."""

    async def apply(self, routes: Iterable[Route]) -> None:
        """Replace all routes; applying the same routes again changes nothing.

        Connections that no route or whitelist admits any more are closed, others
        are not touched. Raise `Away` if the gateway did not accept the routes: it
        then continues with the earlier ones, and the caller retries.
        """
        ...


class Gateway(Router, Protocol):
    """The single entry point to every node."""

    async def start(self) -> None:
        """Ensure that the gateway runs; it admits nobody until the first `apply`.

        If it runs already, nothing changes: connections and routes stay.
        """
        ...

    async def run(self) -> None:
        """Supervise Envoy until cancelled; Envoy keeps running afterwards."""
        ...

    async def blocked(self, routes: Iterable[Route]) -> Mapping[str, int]:
        """Return the peer ports of routes that another program has, by node id."""
        ...

    async def traffic(self) -> Mapping[str, Traffic] | None:
        """Return the traffic of nodes with a route, by id; None if it is not known."""
        ...


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
