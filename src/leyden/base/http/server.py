"""The HTTP server: runs in this event loop and shuts down gracefully."""

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from uvicorn.config import Config

from leyden.base.http.connections import ConnectionLimits, HttpConnections
from leyden.base.http.protocol import StrictProtocol
from leyden.errors import SetupError

# ASGI in our own words (app/serving/api.py): dictionaries, not uvicorn's typed ones.
Application = Callable[[Any, Any, Any], Awaitable[None]]

_BACKLOG = 2048
# After the grace: for the tasks that were told to stop, and for the last bytes.
_LAST_S = 1.0


def bind(host: str, port: int, *, setting: str = "api_port") -> list[socket.socket]:
    """Bind the port on each of the host's addresses; 0 picks a free one.

    Called before anything else starts, so that a port in use is one clear
    error line.
    """
    try:
        found = socket.getaddrinfo(
            # As bytes where it can be: the codec of names takes 10 ms to import.
            (host.encode() if host.isascii() else host) or None,
            port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )
    except (socket.gaierror, UnicodeError):
        name = setting.replace("_port", "_host")
        raise SetupError(f"{name}: no IP address for {host!r}") from None
    sockets: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((each[0], each[4]) for each in found):
            # "Any free port" must be the same one on each address.
            taken = sockets[0].getsockname()[1] if sockets else port
            sockets.append(_listen(family, (address[0], taken, *address[2:])))
    except OSError as error:
        for each in sockets:
            each.close()
        raise SetupError(_why(error, host, port, setting)) from None
    return sockets


def tls(certificate: str, key: str) -> ssl.SSLContext:
    """Create a TLS context from certificate chain and key files."""
    context = bare_tls()
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise SetupError(
            "api_tls_certificate, api_tls_key: cannot be used: "
            f"{error.strerror or error}"
        ) from None
    return context


def bare_tls() -> ssl.SSLContext:
    """Create a TLS context for 1.2 or newer, still without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


@asynccontextmanager
async def serving(
    app: Application,
    sockets: Sequence[socket.socket],
    *,
    limits: ConnectionLimits | None = None,
    tls: ssl.SSLContext | None = None,
    grace_s: float = 20,
) -> AsyncIterator[HttpConnections]:
    """Open an HTTP server for the block; yield its connections.

    At the end no new connections are accepted, idle ones are closed, and
    requests in progress have `grace_s` to finish. The rest is cancelled.
    """
    limits = limits or ConnectionLimits()
    connections = HttpConnections(limits)
    config = Config(
        app=app,
        http=StrictProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
    )
    config.load()
    loop = asyncio.get_running_loop()
    servers = [
        await loop.create_server(
            lambda: StrictProtocol(config, connections),
            sock=each,
            ssl=tls,
            backlog=_BACKLOG,
            ssl_handshake_timeout=limits.header_s if tls else None,
        )
        for each in sockets
    ]
    try:
        yield connections
    finally:
        for server in servers:
            server.close()
        await connections.close(grace_s=grace_s, last_s=_LAST_S)


def _listen(family: int, address: tuple[str | int, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        # At once: until it listens, another program could take the port as well.
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _why(error: OSError, host: str, port: int, setting: str) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"port {port} on {host} is in use; stop the program that uses it, or "
                f"choose another port with LEYDEN_{setting.upper()}; `leyden doctor` "
                "lists every port that is in use"
            )
        case errno.EACCES:
            return (
                f"port {port}: this user is not allowed to use it; choose a port from "
                f"1024 up with LEYDEN_{setting.upper()}"
            )
        case errno.EADDRNOTAVAIL:
            name = setting.upper().replace("_PORT", "_HOST")
            return f"LEYDEN_{name}: this machine does not have the address {host}"
        case _:
            return f"cannot listen on {host}, port {port}: {error.strerror}"
