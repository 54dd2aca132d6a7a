"""Nodes that echo, and callers that come from any address of 127.0.0.0/8."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.gateway.routes import Route, UpstreamAddress

HOST: Final = "127.0.0.1"
ALICE: Final = "127.0.0.11"
BOB: Final = "127.0.0.12"
CHARLIE: Final = "127.0.0.13"
PATIENCE_S: Final = 20.0


@dataclass(frozen=True)
class EchoNode:
    """A node as the gateway sees it: TLS of its own, at an address of its own."""

    name: str
    address: UpstreamAddress

    def route(self, *whitelist: str, node_id: str = "") -> Route:
        return Route(
            node_id=node_id or self.name.partition(".")[0],
            name=self.name,
            whitelist=whitelist,
            rest=self.address,
            grpc=None,
        )


@contextlib.asynccontextmanager
async def echo_node(
    name: str, folder: Path, now: datetime, *, host: str = HOST
) -> AsyncIterator[EchoNode]:
    """Run a node that answers each line with its own name and the line."""
    tls = open_or_create(folder / "authority", now=now).issue(name, now=now)
    chain = folder / f"{name}.pem"
    chain.write_bytes(tls.chain_pem + tls.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)

    open_ones: set[asyncio.Task[None]] = set()

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_ones.add(task)
        try:
            with contextlib.suppress(OSError):
                while line := await reader.readline():
                    writer.write(f"{name}: ".encode() + line)
                    await writer.drain()
        finally:
            open_ones.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(answer, host, 0, ssl=context, backlog=1_000)
    try:
        port = server.sockets[0].getsockname()[1]
        yield EchoNode(name, UpstreamAddress(host, port))
    finally:
        server.close()
        if open_ones:
            await asyncio.wait(open_ones, timeout=PATIENCE_S)


class Call:
    """A connection through the gateway, from the caller's end."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, line: str) -> str:
        """Send a line and give the answer; OSError when the connection is gone."""
        async with asyncio.timeout(PATIENCE_S):
            self._writer.write(line.encode() + b"\n")
            await self._writer.drain()
            answer = await self._reader.readline()
        if not answer:
            raise ConnectionResetError("closed")
        return answer.decode().strip()

    async def open(self) -> bool:
        """Return whether it still works."""
        try:
            await self.ask("hello")
        except OSError:
            return False
        return True

    async def ended(self, *, within_s: float) -> bool:
        """Wait until the other side ends it; False if it does not in time."""
        try:
            async with asyncio.timeout(within_s):
                return not await self._reader.read(1)
        except TimeoutError:
            return False
        except OSError:
            return True

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def trusting_anyone() -> ssl.SSLContext:
    """Return a client that looks at no certificate: here it is about who gets in."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Callers:
    """Make connections to nodes, and end them all with the test."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._calls: list[Call] = []

    async def call(self, name: str, source: str = ALICE, *, port: int = 0) -> Call:
        """Call a node by name; OSError when it is refused."""
        context = trusting_anyone()
        async with asyncio.timeout(PATIENCE_S):
            streams = await asyncio.open_connection(
                HOST,
                port or self._port,
                local_addr=(source, 0),
                ssl=context,
                server_hostname=name,
            )
        made = Call(*streams)
        self._calls.append(made)
        return made

    async def admitted(self, name: str, source: str = ALICE, *, port: int = 0) -> bool:
        """Return whether a caller gets through to a node and hears it."""
        try:
            made = await self.call(name, source, port=port)
        except OSError:
            return False
        try:
            return await made.open()
        finally:
            await made.close()

    async def get_in(self, name: str, source: str = ALICE) -> None:
        """Try until a caller is let in."""
        async with asyncio.timeout(PATIENCE_S):
            while not await self.admitted(name, source):
                await asyncio.sleep(0.01)

    async def hang_up(self) -> None:
        await asyncio.gather(*(each.close() for each in self._calls))
