"""A persistent HTTP/1.1 connection to one server.

The connection can go to another address than the name resolves to
(`connect`), while the name stays in the Host header and in SNI, and the
certificate has to match it. No proxy is used, and no redirect followed.
"""

import http.client
import select
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Final, Self
from urllib.parse import urlsplit

from leyden.values import Struct, hiding

NOT_TRUSTED: Final = "its certificate is not trusted"
_LARGEST_ANSWER: Final = 64 << 20
_AT_ONCE: Final = 64 << 10
_PORTS: Final = {"http": 80, "https": 443}


class NoResponse(Exception):
    """The server gave no complete response.

    `sent` is whether the server may have read the request.
    """

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class Received(Struct, frozen=True):
    """A response."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    __repr__ = hiding("body")


class Server(Struct, frozen=True, kw_only=True):
    """A server's name, with the address and TLS context to reach it."""

    name: str
    port: int
    path: str = ""  # in front of every path
    tls: ssl.SSLContext | None = None
    host: str = ""  # where to connect to, if not to the name
    host_port: int = 0

    @classmethod
    def at(
        cls, url: str, *, tls: ssl.SSLContext | None = None, connect: str = ""
    ) -> Self:
        """Parse a URL; `connect` is HOST:PORT or HOST to connect to instead."""
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("the URL must look like https://api.example.org")
        if parts.username or parts.query or parts.fragment:
            raise ValueError("the URL must have no user, query or fragment")
        host, port = address(connect) if connect else ("", 0)
        if parts.scheme == "https":
            tls = tls or ssl.create_default_context()
        return cls(
            name=parts.hostname,
            port=parts.port or _PORTS[parts.scheme],
            path=parts.path.rstrip("/"),
            tls=tls if parts.scheme == "https" else None,
            host=host,
            host_port=port,
        )


def address(written: str) -> tuple[str, int]:
    """Parse HOST:PORT, [HOST]:PORT or HOST; without a port, return 0."""
    host, colon, port = written.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")) or host.endswith(":"):
        host, port = written, "0"  # no port, or a bare IPv6 address
    host = host.removeprefix("[").removesuffix("]")
    if not host or "]" in host or not port.isdecimal():
        raise ValueError("an address must look like 192.0.2.7:8080")
    return host, int(port)


class Wire:
    """A connection that is opened when needed, and reopened when closed."""

    def __init__(self, server: Server, *, timeout_s: float) -> None:
        self._server = server
        self._http = _Connection(server, timeout_s=timeout_s)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        timeout_s: float | None = None,
    ) -> Received:
        """Send one request; raise NoResponse without a complete response."""
        if self._http.has_ended:
            self._http.close()  # servers may close idle connections
        sent = False
        try:
            if self._http.sock is None:
                self._http.connect()
            if timeout_s is not None:
                self._http.sock.settimeout(timeout_s)
            sent = True
            self._http.request(
                method, f"{self._server.path}{path}", body, dict(headers)
            )
            with self._http.getresponse() as answer:
                content = answer.read(_LARGEST_ANSWER)
                is_whole = answer.isclosed() and not answer.length
            if not is_whole:
                # Cut off, or too long: what follows would be taken for the next answer.
                self._http.close()
                raise NoResponse("the response is incomplete", sent=True)
            self._http.reset_timeout()
        except (OSError, http.client.HTTPException) as error:
            self._http.close()
            raise NoResponse(_why(error), sent=sent) from error
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Received(answer.status, headers, content)

    def lines(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        timeout_s: float,
    ) -> Iterator[tuple[int, bytes]]:
        """Send one request; yield the status with each line of the response.

        Raise NoResponse if the next line takes longer than `timeout_s`. The connection
        is closed at the end, for the rest of the response may not have been read.
        """
        self._http.close()
        sent = False
        try:
            self._http.connect()
            self._http.sock.settimeout(timeout_s)
            sent = True
            self._http.request(
                method, f"{self._server.path}{path}", body, dict(headers)
            )
            left = b""
            with self._http.getresponse() as answer:
                # Unlike readline, read1 tells a cut response from a whole one.
                while content := answer.read1(_AT_ONCE):
                    *lines, left = (left + content).split(b"\n")
                    for line in lines:
                        yield answer.status, line
                if answer.length:
                    raise NoResponse("the response is incomplete", sent=True)
                if left:
                    yield answer.status, left
        except (OSError, http.client.HTTPException) as error:
            raise NoResponse(_why(error), sent=sent) from error
        finally:
            self._http.close()


class _Connection(http.client.HTTPConnection):
    """An HTTPConnection that connects to the server's given address."""

    def __init__(self, server: Server, *, timeout_s: float) -> None:
        super().__init__(server.name, server.port, timeout=timeout_s)
        if server.tls is not None:
            self.default_port = _PORTS["https"]  # for Host
        self._server = server
        self._timeout_s = timeout_s

    def connect(self) -> None:
        """Connect to the server, and verify its certificate for TLS."""
        server = self._server
        plain = socket.create_connection(
            (server.host or server.name, server.host_port or server.port),
            self._timeout_s,
        )
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if server.tls is None:
            self.sock = plain
            return
        try:
            self.sock = server.tls.wrap_socket(plain, server_hostname=server.name)
        except BaseException:
            plain.close()
            raise

    def reset_timeout(self) -> None:
        """Reset the timeout to the default, if the connection is open."""
        if self.sock is not None:
            self.sock.settimeout(self._timeout_s)

    @property
    def has_ended(self) -> bool:
        """Whether the server has closed the connection.

        Between requests a server sends nothing else.
        """
        if self.sock is None:
            return False
        readable, _, _ = select.select([self.sock], [], [], 0)
        return bool(readable)


def _why(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{NOT_TRUSTED}: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, socket.gaierror):
        return "its name can't be resolved"
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    if isinstance(error, http.client.RemoteDisconnected | ConnectionError):
        return "it closed the connection"
    return "the connection failed"
