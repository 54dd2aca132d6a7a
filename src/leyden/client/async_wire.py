"""HTTP/1.1 connections to one server, for programs with an event loop.

As `wire.Wire`, but over aiohttp, and several requests may be on their way at once.
"""

import socket
from collections.abc import Mapping
from typing import Final

import aiohttp
from yarl import URL

from leyden.client.wire import NoResponse, Received, Server, why

_LARGEST_ANSWER: Final = 64 << 20
_PORTS: Final = {True: 443, False: 80}


class AsyncWire:
    """Connections that are opened when needed."""

    def __init__(self, server: Server, *, timeout_s: float) -> None:
        has_tls = server.tls is not None
        port = server.host_port or server.port
        host = server.host or server.name
        host = f"[{host}]" if ":" in host else host
        self._origin = f"http{'s' if has_tls else ''}://{host}:{port}{server.path}"
        name = f"[{server.name}]" if ":" in server.name else server.name
        default = server.port == _PORTS[has_tls]
        self._host = name if default else f"{name}:{server.port}"
        self._server = server
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=timeout_s, sock_read=timeout_s
        )
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections; the next request opens one."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> Received:
        """Send one request; raise NoResponse without a complete response."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=aiohttp.ThreadedResolver()),
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers={"Accept-Encoding", "Content-Type"},
            )
            # Calls count their tries.
            self._session._retry_connection = False  # noqa: SLF001
        try:
            async with self._session.request(
                method,
                URL(f"{self._origin}{path}", encoded=True),
                data=body,
                headers={**headers, "Host": self._host},
                allow_redirects=False,
                ssl=self._server.tls or True,
                server_hostname=self._server.name if self._server.tls else None,
            ) as answer:
                content = bytearray()
                async for part in answer.content.iter_any():
                    content += part
                    if len(content) > _LARGEST_ANSWER:
                        answer.close()
                        raise NoResponse("the response is incomplete", sent=True)
                named = {name.lower(): value for name, value in answer.headers.items()}
                return Received(answer.status, named, bytes(content))
        except (aiohttp.ClientError, OSError) as error:
            is_sent = not isinstance(error, aiohttp.ClientConnectorError)
            raise NoResponse(_why(error), sent=is_sent) from error


def _why(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return why(error.certificate_error)
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the response is incomplete"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return why(ConnectionError())
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return why(socket.gaierror())
    if isinstance(error, aiohttp.ClientConnectorError):
        return why(error.os_error)
    return why(error)
