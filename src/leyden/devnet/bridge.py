"""A way to a node's gRPC for programs that cannot look up names below localhost.

poold asks the resolver for its lnd, and no DNS knows the names of a private
installation. So it is given an address on this machine, from which everything goes on
to the node under its name, over TLS that ends in the node. Where names are real
nobody needs this.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from leyden.devnet.certificate import ensure_certificate
from leyden.domain.times import utc_now
from leyden.values import Struct

_CHUNK = 1 << 16


class Node(Struct, frozen=True, kw_only=True):
    """Where a node's gRPC is, by which name, and who vouches for it."""

    host: str
    port: int
    name: str
    authority: Path


class Bridge(Struct, frozen=True, kw_only=True):
    """The near end."""

    address: str
    certificate: Path


@asynccontextmanager
async def bridged(node: Node, folder: Path) -> AsyncIterator[Bridge]:
    """Lead to the node for as long as the block lasts; its key lies in the folder."""
    certificate = folder / "bridge.cert"
    ensure_certificate(certificate, now=utc_now())
    near = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    near.load_cert_chain(certificate, certificate.with_suffix(".key"))
    near.set_alpn_protocols(["h2"])
    far = ssl.create_default_context(cafile=node.authority)
    far.set_alpn_protocols(["h2"])

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(
                node.host, node.port, ssl=far, server_hostname=node.name
            )
        except OSError:
            writer.close()
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pass_on(reader, back))
                group.create_task(_pass_on(there, writer))
        except BaseException:
            for each in (back, writer):
                each.transport.abort()
            raise

    carrying: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Were this a coroutine, asyncio would run it, and print a traceback when it is
        # cancelled because the program ends (Python 3.11).
        task = asyncio.create_task(carry(reader, writer))
        carrying.add(task)
        task.add_done_callback(carrying.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=near)
    port = server.sockets[0].getsockname()[1]
    try:
        yield Bridge(address=f"127.0.0.1:{port}", certificate=certificate)
    finally:
        server.close()
        for task in carrying:
            task.cancel()
        await asyncio.gather(*carrying, return_exceptions=True)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until it ends; the other end learns of it."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
    writer.close()
