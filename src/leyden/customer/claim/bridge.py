"""A local proxy to a node's gRPC for programs without name resolution.

poold asks the resolver for its lnd, and no DNS knows the names of a private
installation below localhost. So poold gets an address on this machine, from
which everything is forwarded to the node under its name, over TLS that
terminates in the node. Installations with real names do not need this.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from leyden.base.rules.times import utc_now
from leyden.nodes.certificates.self_signed import ensure_certificate
from leyden.values import Struct

_CHUNK = 1 << 16


class GrpcNode(Struct, frozen=True, kw_only=True):
    """A node's gRPC address, name and certificate authority."""

    host: str
    port: int
    name: str
    authority: Path


class Bridge(Struct, frozen=True, kw_only=True):
    """The local address and certificate of the proxy."""

    address: str
    certificate: Path


@asynccontextmanager
async def bridged(node: GrpcNode, folder: Path) -> AsyncIterator[Bridge]:
    """Open a forwarding proxy to the node for the block.

    The proxy's key is stored in the folder.
    """
    certificate = folder / "bridge.cert"
    ensure_certificate(certificate, now=utc_now())
    near = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    near.load_cert_chain(certificate, certificate.with_suffix(".key"))
    near.set_alpn_protocols(["h2"])
    far = ssl.create_default_context(cafile=node.authority)
    far.set_alpn_protocols(["h2"])

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream, back = await asyncio.open_connection(
                node.host, node.port, ssl=far, server_hostname=node.name
            )
        except OSError:
            writer.close()
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pass_on(reader, back))
                group.create_task(_pass_on(upstream, writer))
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
    """Copy data until the stream ends, then close the other end."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
    writer.close()
