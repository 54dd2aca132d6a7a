"""A small application behind the real server, and a caller who writes plain bytes."""

import asyncio
import json
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import uvloop

from leyden.base.http.connections import ConnectionLimits, HttpConnections
from leyden.base.http.server import bind, serving


@dataclass
class Echo:
    """Answers with what it was asked, and remembers it.

    /early answers without reading; /slow waits until `released`; /watch until the
    caller leaves; /large answers more than a caller's buffers hold, /endless so for
    ever; /fails raises.
    """

    begun: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        self.begun.append(path)
        if path == "/fails":
            raise ValueError(path)
        if path == "/watch":
            while (await receive())["type"] != "http.disconnect":
                pass
        body = None if path == "/watch" else await self._read(path, receive)
        if body is None:
            self.broken.append(path)
            return
        while path == "/slow" and not self.released.is_set():
            await asyncio.sleep(0.005)
        self.asked.append(f"{scope['method']} {path}")
        answer = json.dumps({"path": path, "size": len(body)}).encode()
        if path == "/large":
            answer = b"x" * 20_000_000
        headers = [(b"content-length", b"%d" % len(answer))]
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [] if path == "/endless" else headers,
            }
        )
        piece = {"type": "http.response.body", "body": b"x" * 65536, "more_body": True}
        while path == "/endless":
            await send(piece)
        head = scope["method"] == "HEAD"
        await send({"type": "http.response.body", "body": b"" if head else answer})

    async def _read(self, path: str, receive: Any) -> bytes | None:
        body, more = b"", path != "/early"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message["body"]
            more = message["more_body"]
        return body


@dataclass
class Running:
    """The server, seen from outside."""

    app: Any
    port: int
    connections: HttpConnections
    stop: Callable[[], object]

    @contextmanager
    def caller(self, tls: ssl.SSLContext | None = None) -> Iterator["Caller"]:
        """Connect, and hang up in the end."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        with plain:
            if tls is None:
                yield Caller(plain)
                return
            with tls.wrap_socket(plain, server_hostname="localhost") as wrapped:
                yield Caller(wrapped)

    def send(self, *pieces: bytes) -> list["Answer"]:
        """Send and read all that comes until the server hangs up or waits."""
        with self.caller() as caller:
            for piece in pieces:
                caller.send(piece)
            return caller.read_all()


@dataclass
class Answer:
    """One answer, taken apart."""

    status: int
    headers: dict[str, str]
    body: bytes
    closed: bool = False
    """Whether the server hung up after it."""

    def json(self) -> Any:
        return json.loads(self.body)


class Caller:
    """One connection."""

    def __init__(self, plain: socket.socket | ssl.SSLSocket) -> None:
        self.socket = plain
        self._read = bytearray()

    def send(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return  # refused already; what was said can still be read

    def is_closed(self, within_s: float = 5) -> bool:
        """Wait for the server to hang up."""
        self.socket.settimeout(within_s)
        try:
            while more := self.socket.recv(65536):
                self._read += more
        except TimeoutError:
            return False
        except ConnectionResetError:
            return True
        return True

    def read(self, *, head: bool = False) -> Answer | None:
        """Read one answer; None when the server hangs up instead."""
        while b"\r\n\r\n" not in self._read:
            if not self._more():
                return None
        top, _, self._read = self._read.partition(b"\r\n\r\n")
        first, *lines = top.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value
            for name, _, value in (ln.partition(": ") for ln in lines)
        }
        status = int(first.split(" ")[1])
        size = 0 if head or status == 100 else int(headers.get("content-length", 0))
        while len(self._read) < size:
            assert self._more(), "the answer breaks off"
        body, self._read = self._read[:size], self._read[size:]
        return Answer(status, headers, bytes(body))

    def read_all(self, *, quiet_s: float = 0.25) -> list[Answer]:
        """Read answers until the server hangs up, or has nothing more to say."""
        answers: list[Answer] = []
        try:
            while answer := self.read():
                answers.append(answer)
                self.socket.settimeout(quiet_s)
        except TimeoutError:
            return answers
        if answers:
            answers[-1].closed = True
        return answers

    def _more(self) -> bool:
        try:
            more = self.socket.recv(65536)
        except ConnectionResetError:
            return False
        self._read += more
        return bool(more)


@contextmanager
def running(
    app: Any,
    *,
    limits: ConnectionLimits | None = None,
    tls: ssl.SSLContext | None = None,
    loop: str = "uvloop",
    grace_s: float = 5,
) -> Iterator[Running]:
    """Run the server in a thread of its own, on a port that was free."""
    (listener,) = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    ready = threading.Event()
    started: list[Running] = []

    @asynccontextmanager
    async def stoppable() -> AsyncIterator[asyncio.Event]:
        stopped = asyncio.Event()
        here = asyncio.get_running_loop()
        async with serving(
            app, [listener], limits=limits, tls=tls, grace_s=grace_s
        ) as connections:
            started.append(
                Running(
                    app,
                    port,
                    connections,
                    stop=partial(here.call_soon_threadsafe, stopped.set),
                )
            )
            ready.set()
            yield stopped

    async def main() -> None:
        async with stoppable() as stopped:
            await stopped.wait()

    factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop

    def run() -> None:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(main())

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(10)
    try:
        yield started[0]
    finally:
        with suppress(RuntimeError):  # stopped already
            started[0].stop()
        thread.join(20)
        assert not thread.is_alive(), "the server did not stop"


def until(what: Callable[[], object], within_s: float = 5) -> None:
    """Wait for it to be so."""
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.005)
