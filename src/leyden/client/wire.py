"""One connection to one server, kept for as long as it holds: plain HTTP/1.1.

A name may be reached at another address than a resolver would give (`connect`): the
connection goes there, while the name stays in the Host header, in SNI, and is what the
certificate has to show. No proxy is used, and no redirect followed.
"""

import http.client
import select
import socket
import ssl
from collections.abc import Mapping
from typing import Final, Self
from urllib.parse import urlsplit

from leyden.values import Struct, hiding

_LARGEST_ANSWER: Final = 64 << 20
_PORTS: Final = {"http": 80, "https": 443}


class NotThere(Exception):
    """Nobody answered; `sent` tells whether the request may have been read."""

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class Received(Struct, frozen=True):
    """What came back."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    __repr__ = hiding("body")


class Server(Struct, frozen=True, kw_only=True):
    """Where a server is, and under which name."""

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
        """Read a URL; `connect` is HOST:PORT, or HOST alone, of where it is reached."""
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
    """Read HOST:PORT, [HOST]:PORT or HOST; the port is 0 where none is said."""
    host, colon, port = written.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")) or host.endswith(":"):
        host, port = written, "0"  # no port, or a bare IPv6 address
    host = host.removeprefix("[").removesuffix("]")
    if not host or "]" in host or not port.isdecimal():
        raise ValueError("an address must look like 192.0.2.7:8080")
    return host, int(port)


class Wire:
    """The connection; opened when it is needed, and again when it has ended."""

    def __init__(self, server: Server, *, timeout_s: float) -> None:
        self._server = server
        self._http = _Connection(server, timeout_s=timeout_s)

    def close(self) -> None:
        """Hang up."""
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
        """Ask once; NotThere when there is no whole answer."""
        if self._http.has_ended:
            self._http.close()  # a server may hang up on whoever is silent
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
                raise NotThere("the answer is not whole", sent=True)
            self._http.be_as_patient_as_ever()
        except (OSError, http.client.HTTPException) as error:
            self._http.close()
            raise NotThere(_why(error), sent=sent) from error
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Received(answer.status, headers, content)


class _Connection(http.client.HTTPConnection):
    """The standard library's, which connects where it is told."""

    def __init__(self, server: Server, *, timeout_s: float) -> None:
        super().__init__(server.name, server.port, timeout=timeout_s)
        if server.tls is not None:
            self.default_port = _PORTS["https"]  # for Host
        self._server = server
        self._timeout_s = timeout_s

    def connect(self) -> None:
        """Connect to where the server is, and let it show who it is."""
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

    def be_as_patient_as_ever(self) -> None:
        """Go back to the usual patience, if the connection is still there."""
        if self.sock is not None:
            self.sock.settimeout(self._timeout_s)

    @property
    def has_ended(self) -> bool:
        """Tell whether the other side has hung up: nothing else is sent unasked."""
        if self.sock is None:
            return False
        readable, _, _ = select.select([self.sock], [], [], 0)
        return bool(readable)


def _why(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, socket.gaierror):
        return "its name leads nowhere"
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    if isinstance(error, http.client.RemoteDisconnected | ConnectionError):
        return "it hung up"
    return type(error).__name__
