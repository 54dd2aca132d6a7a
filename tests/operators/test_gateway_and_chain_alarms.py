"""Alarms about what nodes on this machine need: the gateway, and a chain."""

from collections.abc import Mapping
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer

from leyden.base.platform import Platform
from leyden.base.rules.alarms import AlarmKind
from leyden.base.settings import Settings
from leyden.nodes.lnd.chains import Backend, Bitcoind, Neutrino
from leyden.nodes.rules.nodes import Network
from leyden.operators.alarms import list_alarms
from leyden.values import replace
from tests.nodes.fleet_harness import FleetHarness
from tests.ports import free_port

LOOKED_FOR = {AlarmKind.GATEWAY_AWAY, AlarmKind.CHAIN_AWAY}


def platform_of(
    harness: FleetHarness, home: Path, backend: Backend | None = None
) -> Platform:
    backends = {Network.TESTNET: backend} if backend else {}
    return Platform(
        settings=Settings(home=str(home)),
        database=harness.fleet.database,
        sealer=harness.fleet.sealer,
        clock=lambda: harness.now,
        fleet=replace(harness.fleet, backends=backends),
    )


def bitcoind(host: str) -> Bitcoind:
    return Bitcoind(host=host, user="user", password="secret")


async def said(platform: Platform) -> dict[str, str]:
    found = await list_alarms(platform, now=platform.clock())
    return {each.kind.value: each.what for each in found if each.kind in LOOKED_FOR}


async def test_a_gateway_that_does_not_respond_is_told(
    fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    platform = platform_of(fleet_harness, tmp_path)
    assert await said(platform) == {}
    fleet_harness.gateway.is_elsewhere = True
    assert set(await said(platform)) == {"gateway.away"}
    elsewhere = replace(platform.settings, gateway_here=False)
    assert await said(replace(platform, settings=elsewhere)) == {}


async def test_a_chain_that_is_away_or_behind_is_told(
    fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    chain: Mapping[str, object] = {"blocks": 100, "headers": 100}

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"result": chain, "error": None})

    app = web.Application()
    app.router.add_post("/", answer)
    async with TestServer(app) as server:
        backend = bitcoind(f"127.0.0.1:{server.port}")
        platform = platform_of(fleet_harness, tmp_path, backend)
        assert await said(platform) == {}
        chain = {"blocks": 90, "headers": 100}
        (what,) = (await said(platform)).values()
        assert what.endswith("the backend is at block 90 of 100")
    backend = bitcoind(f"127.0.0.1:{free_port()}")
    found = await said(platform_of(fleet_harness, tmp_path, backend))
    assert set(found) == {"chain.away"}
    assert "secret" not in found["chain.away"]
    assert await said(platform_of(fleet_harness, tmp_path, Neutrino())) == {}
