"""The port for gateways elsewhere, over TLS of the platform's own authority."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leyden.base.http.server import bind, serving
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.nodes.api.gateways import Gateways
from leyden.nodes.wiring import api_certificate


def name(settings: Settings) -> str:
    """Return the name in the certificate, which differs from all names of nodes."""
    return f"gateways.{settings.nodes_domain}"


@asynccontextmanager
async def listening(platform: Platform, far: Gateways | None) -> AsyncIterator[None]:
    """Serve routes for the block, at a port of their own if one is set."""
    settings = platform.settings
    if far is None or not settings.gateway_routes_port:
        yield
        return
    sockets = bind(
        settings.api_host, settings.gateway_routes_port, setting="gateway_routes_port"
    )
    try:
        async with (
            api_certificate.of_our_authority(platform, [name(settings)]) as tls,
            serving(far, sockets, tls=tls, grace_s=1),
        ):
            yield
    finally:
        for each in sockets:
            each.close()
