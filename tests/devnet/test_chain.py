"""A btcd that refuses to mine, as it does while it mines for somebody else."""

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from leyden.certificates.self_signed import ensure_certificate
from leyden.errors import Refused
from leyden_workshop.devnet import access
from leyden_workshop.devnet.chain import connected
from leyden_workshop.devnet.network import Network
from leyden_workshop.devnet.places import Ports
from tests.contracts.runtimes import until
from tests.ports import free_port

BUSY = "Server is already CPU mining. Please call `setgenerate 0` before calling"


class StandInBtcd:
    """A chain whose newest block is old, and which refuses to mine some times."""

    def __init__(self, home: Path) -> None:
        self.refusals: list[str] = []
        self.mined = 0
        self.port = free_port()
        self.network = Network(
            home,
            programs={"btcd": Path("btcd"), "lnd": Path("lnd")},
            ports=Ports(btcd=self.port),
        )
        self.access = access.load(home).btcd

    async def answer(self, request: web.Request) -> web.Response:
        asked = await request.json()
        try:
            return web.json_response({"result": self._result(asked), "error": None})
        except Refused as refused:
            error = {"code": -32603, "message": refused.message}
            return web.json_response({"result": None, "error": error})

    def _result(self, asked: dict[str, Any]) -> object:
        match asked["method"]:
            case "getbestblockhash":
                return "tip"
            case "getblockheader":
                return {"time": 0, "height": 0}
            case "generate":
                if self.refusals:
                    raise Refused(self.refusals.pop())
                self.mined += asked["params"][0]
                return ["block"] * asked["params"][0]
        raise Refused("unknown")


@pytest.fixture
async def btcd(tmp_path: Path) -> AsyncIterator[StandInBtcd]:
    btcd = StandInBtcd(tmp_path)
    certificate = Path(btcd.access.certificate)
    ensure_certificate(certificate, now=dt.datetime.now(tz=dt.UTC))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, certificate.with_suffix(".key"))
    app = web.Application()
    app.router.add_post("/", btcd.answer)
    server = TestServer(app, port=btcd.port)
    await server.start_server(ssl=tls)
    yield btcd
    await server.close()


async def test_who_mines_waits_for_who_mines_already(btcd: StandInBtcd) -> None:
    btcd.refusals = [BUSY, BUSY]
    async with connected(btcd.access) as chain:
        assert await chain.mine(3) == ["block"] * 3
        btcd.refusals = ["No payment addresses specified via --miningaddr"]
        with pytest.raises(Refused, match="No payment addresses"):
            await chain.mine(1)
    assert btcd.mined == 3


async def test_a_block_that_is_refused_does_not_end_the_supervision(
    btcd: StandInBtcd,
) -> None:
    btcd.refusals = ["Block is not valid"]
    keeping = asyncio.create_task(btcd.network._keep_fresh())
    await until(lambda: btcd.mined > 0 or keeping.done())
    assert not keeping.done()
    keeping.cancel()
