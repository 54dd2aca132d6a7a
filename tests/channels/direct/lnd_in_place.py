"""A program that answers as an lnd does, over TLS."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from aiohttp import web

from leyden.nodes.lnd.connection import LndAccess
from tests.authority import Authority

HOST: Final = "127.0.0.1"


@asynccontextmanager
async def answering(
    folder: Path, answer: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> AsyncIterator[LndAccess]:
    """Serve for the block."""
    authority = Authority()
    authority.give(folder, HOST)
    (folder / "trusted.cert").write_text(authority.pem)
    (folder / "some.macaroon").write_bytes(b"\x02\x01")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "tls.cert", folder / "tls.key")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0, ssl_context=tls)
    await site.start()
    yield LndAccess(
        host=HOST,
        port=runner.addresses[0][1],
        certificate=folder / "trusted.cert",
        macaroon=folder / "some.macaroon",
    )
    await runner.cleanup()
