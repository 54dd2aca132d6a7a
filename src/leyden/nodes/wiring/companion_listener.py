"""The port for reports of companions, over TLS of the platform's own authority."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leyden.base.http.server import bind, serving
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.nodes.api.companions import LIMITS, Companions
from leyden.nodes.wiring import api_certificate
from leyden.nodes.wiring.clusters import Cluster


def name(settings: Settings) -> str:
    """Return the name in the certificate, which differs from all names of nodes."""
    return f"companion.{settings.nodes_domain}"


@asynccontextmanager
async def listening(platform: Platform, cluster: Cluster | None) -> AsyncIterator[None]:
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
    try:
        async with (
            api_certificate.of_our_authority(platform, [name(settings)]) as tls,
            serving(reports, sockets, limits=LIMITS, tls=tls, grace_s=1),
        ):
            yield
    finally:
        for each in sockets:
            each.close()
