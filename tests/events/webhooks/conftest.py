"""Receivers of every kind, as real sockets on this machine."""

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

import pytest
import uvloop
from aiohttp.abc import AbstractResolver, ResolveResult

from leyden.events.rules.webhook_urls import Allowed
from leyden.events.webhooks.connector import Egress
from leyden.events.webhooks.sender import DEADLINE_S, HttpSender
from tests.authority import Authority

LOOPBACK = ipaddress.ip_network("127.0.0.0/8")
ANYTHING = Allowed(schemes=frozenset({"https", "http"}), ports=range(1, 65_536))

Behaviour = Callable[[socket.socket], None]


def pytest_asyncio_loop_factories() -> dict[
    str, Callable[[], asyncio.AbstractEventLoop]
]:
    """Run on both loops: ours is uvloop, and what holds there must be no accident."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class Receiver:
    """A server in threads of its own, so that it shares nothing with the sender.

    It counts who comes and keeps what they ask. A behaviour in bytes is the answer
    to each request; a function is given each connection.
    """

    def __init__(
        self,
        behaviour: Behaviour | bytes,
        *,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        name: str | None = None,
    ) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        self._behaviour = behaviour
        self._tls = tls
        self._listening = socket.create_server((host, 0))
        self.port: int = self._listening.getsockname()[1]
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://{name or host}:{self.port}/hook"
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                thread = threading.Thread(target=self._serve, args=[connection])
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.enter_context(connection)
            self._open.add(connection)
            if self._tls is not None:
                connection = self._tls.wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
                stack.enter_context(connection)
                self._open.add(connection)
                connection.do_handshake()
            self._behave(connection)

    def _behave(self, connection: socket.socket) -> None:
        if callable(self._behaviour):
            return self._behaviour(connection)
        while request := read_request(connection):
            self.requests.append(request)
            connection.sendall(self._behaviour)
        return None


def read_request(connection: socket.socket) -> bytes:
    """Read one request whole, or nothing when there is none to come."""
    said = b""
    while b"\r\n\r\n" not in said:
        more = connection.recv(65_536)
        if not more:
            return b""
        said += more
    head, _, body = said.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


class FixedResolver(AbstractResolver):
    """A resolver with the given addresses, those of the next call each time."""

    def __init__(self, *calls: Sequence[str]) -> None:
        self._calls = list(calls)

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,
    ) -> list[ResolveResult]:
        del family
        addresses = self._calls.pop(0) if len(self._calls) > 1 else self._calls[0]
        return [
            ResolveResult(
                hostname=host,
                host=each,
                port=port,
                family=socket.AF_INET6 if ":" in each else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for each in addresses
        ]

    async def close(self) -> None: ...


@pytest.fixture
def loopback_sender() -> HttpSender:
    """A sender that may call this machine."""
    return to_loopback()


@pytest.fixture
def impatient_sender() -> HttpSender:
    """A sender that may call this machine, for receivers that take their time."""
    return to_loopback(deadline_s=0.6)


def to_loopback(deadline_s: float = DEADLINE_S) -> HttpSender:
    egress = Egress(exceptions=[LOOPBACK])
    return HttpSender(egress, allowed=ANYTHING, deadline_s=deadline_s)


class Serving(Authority):
    """An authority for servers of Python's own kind, and for those who trust it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.ca_file = folder / "ca.pem"
        self.ca_file.write_text(self.pem)

    def serving(self, name: str, *, expired: bool = False) -> ssl.SSLContext:
        """Make the server side's context, with a certificate for this name."""
        path = self._folder / "served.pem"
        path.write_bytes(b"".join(self.sign(name, expired=expired)))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Serving:
    return Serving(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that is ours and where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
