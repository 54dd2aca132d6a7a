"""Receivers of webhooks, in a process of their own: prompt, hanging, or resetting.

`/prompt/7` answers 200 at once, `/hang/7` never, `/reset/7` closes rudely. What came,
and when by the machine's monotonic clock, `heard()` tells.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.request import urlopen

import uvloop

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_ID = re.compile(rb"\nwebhook-id: *(\S+)", re.IGNORECASE)


@dataclass(frozen=True)
class Heard:
    """One event as it came, and when by the machine's monotonic clock."""

    path: str
    body: str
    at_s: float
    id: str = ""


@dataclass(frozen=True)
class Receivers:
    """A process full of them."""

    port: int
    pid: int

    def url(self, manner: str, number: int) -> str:
        """Return the address of one of them."""
        return f"http://127.0.0.1:{self.port}/{manner}/{number}"

    def heard(self) -> list[Heard]:
        """Return what came since the last time this was asked, and forget it."""
        with urlopen(f"http://127.0.0.1:{self.port}/heard", timeout=60) as answer:
            return [Heard(*each) for each in json.load(answer)]


@contextmanager
def receivers(*, processor: int | None = None) -> Iterator[Receivers]:
    """Run them until the end of the block, on one processor if that is asked."""
    command = [sys.executable, "-c", "from bench.receivers import serve; serve()"]
    if processor is not None:
        command = ["taskset", "-c", str(processor), *command]
    process = subprocess.Popen(
        command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield Receivers(port=int(process.stdout.readline()), pid=process.pid)
    finally:
        process.terminate()
        process.wait(20)


def serve() -> None:
    """Receive until told to stop."""
    uvloop.run(_serve())


_heard: list[tuple[str, str, float, str]] = []


class _Receiver(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._said = b""

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._said += data
        while (end := self._said.find(b"\r\n\r\n")) >= 0:
            head = self._said[:end]
            length = _LENGTH.search(head)
            size = int(length[1]) if length else 0
            if len(self._said) < end + 4 + size:
                return
            body = self._said[end + 4 : end + 4 + size]
            self._said = self._said[end + 4 + size :]
            named = _ID.search(head)
            id_ = named[1].decode() if named else ""
            self._take(head.split(b" ", 2)[1].decode(), body, id_)

    def _take(self, path: str, body: bytes, id_: str) -> None:
        if path == "/heard":
            listed = json.dumps(_heard).encode()
            _heard.clear()
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n" % len(listed)
            self._transport.write(head + b"Connection: close\r\n\r\n" + listed)
            return
        _heard.append((path, body.decode(), time.monotonic(), id_))
        if path.startswith("/prompt"):
            self._transport.write(_ANSWER)
        elif path.startswith("/reset"):
            self._transport.abort()


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Receiver, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
