"""What an authority may get wrong; all else is in nodes/contracts/test_issuer.py."""

import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from leyden.errors import AuthorityAway
from leyden.nodes.certificates.acme import AcmeAccount, AcmeIssuer
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.certificates.keys import new_key
from leyden.nodes.wiring.certificates import load_tls
from tests.ports import free_port


@pytest.fixture
async def issuer(tmp_path: Path) -> AsyncIterator[AcmeIssuer]:
    """The client of an authority that does not say where an order is."""
    here = f"https://localhost:{(port := free_port())}"

    async def answer(request: web.Request) -> web.Response:
        expected = {
            name: f"{here}/{name}" for name in ("newNonce", "newAccount", "newOrder")
        }
        headers = {"Replay-Nonce": "nonce"}
        if request.path == "/newAccount":
            headers["Location"] = f"{here}/account"
        return web.json_response(expected, headers=headers)

    authority = open_or_create(tmp_path / "authority", now=datetime.now(UTC))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_tls(tls, authority.issue("localhost", now=datetime.now(UTC)))
    app = web.Application()
    app.router.add_route("*", "/{path}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "localhost", port, ssl_context=tls).start()
    trusting = ssl.create_default_context(cadata=authority.root_pem.decode())
    made = AcmeIssuer(f"{here}/dir", AcmeAccount(key=new_key()), tls=trusting)
    yield made
    await made.close()
    await runner.cleanup()


async def test_an_order_that_nobody_finds_again_is_not_kept(issuer: AcmeIssuer) -> None:
    """It would be asked after, at no address, for ever."""
    with pytest.raises(AuthorityAway, match="does not say where its order is"):
        await issuer.begin("harbour-light.nodes.test")
