"""The ports for companions and gateways elsewhere, over TLS of our own authority."""

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from leyden.base.http.connections import ConnectionLimits
from leyden.base.http.server import Application, bind, serving
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.nodes.api.companions import LIMITS, Companions
from leyden.nodes.api.gateways import Gateways
from leyden.nodes.wiring import api_certificate
from leyden.nodes.wiring.clusters import JoinedCluster


def companions_name(settings: Settings) -> str:
    """Return the name in the certificate, which differs from all names of nodes."""
    return f"companion.{settings.nodes_domain}"


def routes_name(settings: Settings) -> str:
    """Return the name in the certificate, which differs from all names of nodes."""
    return f"gateways.{settings.nodes_domain}"


@asynccontextmanager
async def companions(
    platform: Platform, cluster: JoinedCluster | None
) -> AsyncIterator[None]:
    """Serve reports of companions for the block, if nodes have companions."""
    settings = platform.settings
    if cluster is None or platform.fleet is None or not settings.companion_image:
        yield
        return
    sockets = bind(
        settings.companion_host, settings.companion_port, setting="companion_port"
    )
    reports = Companions(
        platform.fleet, cluster.tokens, failures_per_minute=settings.failures_per_minute
    )
    async with _listening(
        platform, companions_name(settings), reports, sockets, limits=LIMITS
    ):
        yield


@asynccontextmanager
async def routes(platform: Platform, far: Gateways | None) -> AsyncIterator[None]:
    """Serve routes for the block, at a port of their own if one is set."""
    settings = platform.settings
    if far is None or not settings.gateway_routes_port:
        yield
        return
    sockets = bind(
        settings.api_host, settings.gateway_routes_port, setting="gateway_routes_port"
    )
    async with _listening(platform, routes_name(settings), far, sockets):
        yield


@asynccontextmanager
async def _listening(
    platform: Platform,
    name: str,
    app: Application,
    sockets: Sequence[socket.socket],
    *,
    limits: ConnectionLimits | None = None,
) -> AsyncIterator[None]:
    try:
        async with (
            api_certificate.of_our_authority(platform, [name]) as tls,
            serving(app, sockets, limits=limits, tls=tls, grace_s=1),
        ):
            yield
    finally:
        for each in sockets:
            each.close()
