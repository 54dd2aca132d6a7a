import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from leyden.errors import NodeAway, NodeRefused
from leyden.lnd.trust import trusting
from leyden.nodes.lnd.client import LndClient, connect, session
from leyden.nodes.lnd.states import TlsAddress
from tests.authority import Authority
from tests.busy_server import HOST, BusyServer
from tests.stand_in_lnd import StandInLnd

NAME = "harbour-light.nodes.localhost"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def stand_in(authority: Authority, tmp_path: Path) -> StandInLnd:
    authority.give(tmp_path, NAME)
    return StandInLnd(tmp_path)


@pytest.fixture
async def lnd(authority: Authority, stand_in: StandInLnd) -> AsyncIterator[LndClient]:
    async with (
        stand_in.serving("127.0.0.1", 0) as port,
        connect(TlsAddress("127.0.0.1", port, NAME), trusting(authority.pem)) as client,
    ):
        yield client


async def test_it_answers_what_lnd_answers(lnd: LndClient) -> None:
    assert await lnd.call("GET", "/v1/state") == {"state": "NON_EXISTING"}
    body = {"wallet_password": "aGFyYm91cg==", "stateless_init": True}
    assert "admin_macaroon" in await lnd.call("POST", "/v1/initwallet", body)
    assert await lnd.call("GET", "/v1/state") == {"state": "SERVER_ACTIVE"}


async def test_lnds_refusal_comes_with_its_reason(lnd: LndClient) -> None:
    with pytest.raises(NodeRefused, match="/v1/unlockwallet in NON_EXISTING") as raised:
        await lnd.call("POST", "/v1/unlockwallet", {})
    assert raised.value.code == 2


async def test_a_stream_gives_one_thing_after_the_other(
    lnd: LndClient, stand_in: StandInLnd
) -> None:
    states = []
    async with asyncio.timeout(5):
        async for answer in lnd.stream("GET", "/v1/state/subscribe"):
            states.append(answer["state"])
            if len(states) == 1:
                await stand_in.say("UNLOCKED")
            else:
                break
    assert states == ["NON_EXISTING", "UNLOCKED"]


async def test_nobody_there_is_away_and_so_is_a_stranger(
    authority: Authority, stand_in: StandInLnd
) -> None:
    async with stand_in.serving("127.0.0.1", 0) as port:
        for address, tls in (
            (TlsAddress("127.0.0.1", port, "other.node"), trusting(authority.pem)),
            (TlsAddress("127.0.0.1", port, NAME), trusting(Authority("stranger").pem)),
        ):
            async with connect(address, tls) as client:
                with pytest.raises(NodeAway):
                    await client.call("GET", "/v1/state")
    async with connect(
        TlsAddress("127.0.0.1", port, NAME), trusting(authority.pem)
    ) as client:
        with pytest.raises(NodeAway):
            await client.call("GET", "/v1/state")


async def test_who_takes_too_long_is_away(lnd: LndClient) -> None:
    with pytest.raises(NodeAway):
        await lnd.call("GET", "/v1/state/subscribe", timeout_s=0.05)


async def test_a_socket_whose_lnd_is_silent_ends(
    authority: Authority, tmp_path: Path
) -> None:
    """As when its machine is gone, and no packet says so."""
    authority.give(tmp_path, NAME)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "tls.cert", tmp_path / "tls.key")
    is_over = asyncio.Event()

    async def say_nothing(request: web.Request) -> web.WebSocketResponse:
        silent = web.WebSocketResponse(autoping=False)
        await silent.prepare(request)
        await is_over.wait()
        return silent

    app = web.Application()
    app.router.add_get("/v2/router/htlcinterceptor", say_nothing)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    address = TlsAddress("127.0.0.1", port, NAME)
    async with (
        connect(address, trusting(authority.pem)) as client,
        client.socket("/v2/router/htlcinterceptor", silent_s=0.1) as heard,
        asyncio.timeout(10),
    ):
        message = await heard.receive()
        assert message.type is aiohttp.WSMsgType.ERROR
        is_over.set()
    await runner.cleanup()


async def test_a_stream_that_is_left_leaves_no_connection(
    authority: Authority, tmp_path: Path
) -> None:
    """Even beside an lnd that is too busy to say goodbye."""
    trusts = trusting(authority.pem)
    line = b'{"result":{"state":"LOCKED"}}\n'
    async with BusyServer(tmp_path, NAME, authority).serving(line) as busy:
        async with (
            connect(TlsAddress(HOST, busy.port, NAME), trusts) as client,
            aclosing(client.stream("GET", "/v1/state/subscribe")) as stream,
        ):
            assert await anext(stream) == {"state": "LOCKED"}
        await busy.all_left()


async def test_a_call_that_is_cancelled_leaves_no_connection(
    authority: Authority, tmp_path: Path
) -> None:
    trusts = trusting(authority.pem)
    async with (
        BusyServer(tmp_path, NAME, authority).serving(None) as busy,
        connect(TlsAddress(HOST, busy.port, NAME), trusts) as client,
    ):
        calling = asyncio.create_task(client.call("GET", "/v1/getinfo"))
        await busy.asked.wait()
        calling.cancel()
        await asyncio.wait([calling])
        await busy.all_left()


async def test_a_server_that_vanishes_is_noticed(
    authority: Authority, tmp_path: Path
) -> None:
    """A stream would wait forever for an lnd whose machine has failed."""
    line = b'{"result":{"state":"LOCKED"}}\n'
    async with (
        BusyServer(tmp_path, NAME, authority).serving(line) as busy,
        session() as calls,
        calls.get(
            f"https://{HOST}:{busy.port}/",
            ssl=trusting(authority.pem),
            server_hostname=NAME,
        ) as response,
    ):
        assert response.connection is not None
        assert response.connection.transport is not None
        opened = response.connection.transport.get_extra_info("socket")
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
