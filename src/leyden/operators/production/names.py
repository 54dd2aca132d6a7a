"""Checks of names, certificates and public endpoints."""

import asyncio
import secrets
import socket
import ssl
from http import HTTPStatus
from typing import Final

import aiohttp

from leyden.base.platform import Platform
from leyden.base.settings import own_names
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.wiring import authorities

_HERE: Final = (".localhost", ".local", ".test", ".invalid")


async def nodes(platform: Platform) -> str:
    """Resolve the name of a nonexistent node, and connect to that address."""
    settings = platform.settings
    domain = settings.nodes_domain
    if f".{domain}".endswith(_HERE):
        return (
            f"nodes_domain is {domain}, which nobody else can resolve; set it to your "
            "own domain, and point *.DOMAIN at the gateway"
        )
    name = f"doctor-{secrets.token_hex(4)}.{domain}"
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return f"{name} does not resolve: add a DNS record *.{domain}"
    for port in (settings.gateway_rest_port, settings.gateway_grpc_port):
        address = found[0][4][0]
        try:
            _, writer = await asyncio.open_connection(str(address), port)
        except OSError as error:
            return f"{name} is {address}, where port {port} is closed: {error.strerror}"
        writer.close()
    return ""


async def api(platform: Platform) -> str:
    """Call the API at its public address."""
    settings = platform.settings
    origin = next(
        (each for each in own_names.origins(settings) if each.startswith("https://")),
        "",
    )
    if not origin:
        return (
            "set dashboard_origins to the https:// URL that a proxy serves, or "
            "acme_api_name, api_tls_certificate or api_tls"
        )
    trusted = ssl.create_default_context()
    if settings.api_tls:
        authority = Authority(authorities.folder_of(settings))
        trusted.load_verify_locations(cadata=authority.anchors_pem.decode())
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{origin}/health/ready", ssl=trusted) as response,
        ):
            status = response.status
    except aiohttp.ClientError as error:
        return f"{origin}: {error}"
    if status != HTTPStatus.OK:
        return f"{origin}/health/ready: answers {status}"
    return ""


async def issuer(platform: Platform) -> str:
    """Check who issues certificates."""
    if platform.settings.acme_directory:
        return ""
    return (
        "clients must trust this platform's own root (`leyden trust`); set "
        "acme_directory for certificates that they already trust"
    )


async def webhooks(platform: Platform) -> str:
    """Check that events are not sent in clear."""
    if platform.settings.webhooks_over_http:
        return "set webhooks_over_http = false"
    return ""
