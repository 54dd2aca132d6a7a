"""Gateways on other machines: real Envoys that ask our API, and strangers that do."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from leyden.app.endpoints import OPERATIONS
from leyden.app.serving.api import Api
from leyden.app.serving.public import Public
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.http.server import bind, serving
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes import commands
from leyden.nodes.api.gateways import PATH, Gateways
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.certificates.constraints import CertificateScope
from leyden.nodes.fleet import GatewayPorts
from leyden.nodes.gateway.discovery import DiscoveryGateway
from leyden.nodes.gateway.supervisor import Supervisor, program
from leyden.nodes.routes import Routes
from leyden.nodes.wiring import gateways, listeners
from leyden.values import replace
from tests.conftest import NOW
from tests.nodes.fleet_harness import HARBOUR, SETTINGS, FleetHarness
from tests.nodes.gateway.calls import ALICE, BOB, Callers, echo_node
from tests.ports import free_port

TOKEN = "21 million and not one more"


@dataclass
class Control:
    """The platform as far as gateways see it; it can go away and come back."""

    fleet_harness: FleetHarness
    given: Settings
    clock: Callable[[], datetime] = lambda: NOW

    def __post_init__(self) -> None:
        self._up = AsyncExitStack()

    async def up(self) -> None:
        self._up = AsyncExitStack()
        await self._up.enter_async_context(self._serving())

    async def down(self) -> None:
        await self._up.aclose()

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[None]:
        platform = Platform(
            settings=self.given,
            database=self.fleet_harness.fleet.database,
            sealer=self.fleet_harness.fleet.sealer,
            clock=self.clock,
            fleet=self.fleet_harness.fleet,
        )
        answer = gateways.far_gateway(self.given)
        request = None
        if answer is not None:
            request = Gateways(answer, failures_per_minute=3, patience_s=5)
        api = Api(platform, OPERATIONS)
        public = Public(platform, api, version="0", gateways=request)
        following = asyncio.create_task(_follow(self.fleet_harness, answer))
        sockets = bind("127.0.0.1", self.given.api_port)
        async with (
            serving(public, sockets, grace_s=20),
            listeners.routes(platform, request),
        ):
            try:
                yield
            finally:
                if request is not None:
                    request.close()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _follow(
    fleet_harness: FleetHarness, discovery_gateway: DiscoveryGateway | None
) -> None:
    if discovery_gateway is not None:
        await Routes(fleet_harness.fleet, discovery_gateway).follow()


@pytest.fixture
def given(tmp_path: Path) -> Settings:
    port = free_port()
    return Settings(
        home=str(tmp_path / "far"),
        api_port=port,
        gateway_token=TOKEN,
        gateway_control=f"http://127.0.0.1:{port}",
        gateway_rest_port=free_port(),
        gateway_grpc_port=free_port(),
    )


@pytest.fixture
async def fleet_harness(
    sqlite_db: Database, sealer: Sealer, tmp_path: Path
) -> FleetHarness:
    fleet_harness = FleetHarness(
        sqlite_db, sealer, open_or_create(tmp_path / "a", now=NOW)
    )
    await fleet_harness.found()
    return fleet_harness


@pytest.fixture
async def control(
    fleet_harness: FleetHarness, given: Settings
) -> AsyncIterator[Control]:
    made = Control(fleet_harness, given)
    await made.up()
    yield made
    await made.down()


def discovery_request(**changes: Any) -> dict[str, Any]:
    node = {"id": "gateway 1", "metadata": {"token": TOKEN}}
    return {"node": node, "version_info": "", **changes}


DEEP = b'{"node": ' + b"[" * 200_000


async def post(given: Settings, body: object, method: str = "POST") -> tuple[int, str]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    url = f"http://127.0.0.1:{given.api_port}{PATH}"
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, data=data) as answer,
    ):
        return answer.status, await answer.text()


@pytest.fixture
async def envoy(given: Settings) -> AsyncIterator[Supervisor]:
    async with envoy_of(given) as made:
        yield made


@asynccontextmanager
async def envoy_of(given: Settings) -> AsyncIterator[Supervisor]:
    try:
        program()
    except SetupError as error:
        pytest.skip(str(error))
    made = gateways.far_envoy(given)
    await made.start()
    yield made
    await made.stop()


@pytest.mark.real
async def test_a_far_gateway_lets_in_whom_the_whitelist_names_with_and_without_us(
    control: Control, given: Settings, envoy: Supervisor, tmp_path: Path
) -> None:
    fleet_harness = control.fleet_harness
    node = await fleet_harness.running(settings={**SETTINGS, "whitelist": [ALICE, BOB]})
    now = datetime.now(UTC)
    async with echo_node(node.api_endpoint, tmp_path, now, host=node.host) as lnd:
        fleet_harness.fleet = replace(
            fleet_harness.fleet,
            rules=replace(
                fleet_harness.fleet.rules,
                ports=GatewayPorts(node_rest=lnd.address.port),
            ),
        )
        await control.down()
        await control.up()
        callers = Callers(given.gateway_rest_port)
        await callers.get_in(node.api_endpoint, ALICE)
        alice = await callers.call(node.api_endpoint, ALICE)
        bob = await callers.call(node.api_endpoint, BOB)

        await commands.change_settings(
            fleet_harness.fleet,
            HARBOUR,
            node.id,
            {"whitelist": [ALICE]},
            actor="",
            now=NOW,
        )
        assert await bob.ended(within_s=10)
        assert not await callers.admitted(node.api_endpoint, BOB)
        assert await alice.open()

        await control.down()
        assert await alice.open()
        assert await callers.admitted(node.api_endpoint, ALICE)
        assert not await callers.admitted(node.api_endpoint, BOB)
        await callers.hang_up()
    await envoy.stop()


@pytest.mark.real
async def test_a_far_gateway_gets_its_routes_over_tls_when_they_have_a_port(
    fleet_harness: FleetHarness, given: Settings, tmp_path: Path
) -> None:
    """The name in the certificate is none of a node's, and is checked."""
    now = datetime.now(UTC)
    port = free_port()
    served = replace(given, home=str(tmp_path / "home"), gateway_routes_port=port)
    open_or_create(
        served.home_path / "authority",
        now=now,
        scope=CertificateScope((given.nodes_domain,)),
    )
    given = replace(
        given,
        gateway_control=f"https://127.0.0.1:{port}",
        gateway_control_ca=str(served.home_path / "authority/root.pem"),
        gateway_control_name=listeners.routes_name(served),
    )
    node = await fleet_harness.running(settings={**SETTINGS, "whitelist": [ALICE]})
    async with AsyncExitStack() as stack:
        lnd = await stack.enter_async_context(
            echo_node(node.api_endpoint, tmp_path, now, host=node.host)
        )
        ports = GatewayPorts(node_rest=lnd.address.port)
        rules = replace(fleet_harness.fleet.rules, ports=ports)
        fleet_harness.fleet = replace(fleet_harness.fleet, rules=rules)
        control = Control(fleet_harness, served, clock=lambda: now)
        await control.up()
        stack.push_async_callback(control.down)
        async with envoy_of(given):
            callers = Callers(given.gateway_rest_port)
            await callers.get_in(node.api_endpoint, ALICE)
            assert not await callers.admitted(node.api_endpoint, BOB)
            await callers.hang_up()
        trusting = ssl.create_default_context(cafile=given.gateway_control_ca)
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                f"{given.gateway_control}/nodes",
                ssl=trusting,
                server_hostname=given.gateway_control_name,
            ) as answer,
        ):
            assert answer.status == 404, "nothing else is there"


async def test_one_that_waits_is_answered_when_we_stop(
    control: Control, given: Settings
) -> None:
    status, first = await post(given, discovery_request())
    assert status == 200
    has = json.loads(first)["version_info"]
    waiting = asyncio.create_task(post(given, discovery_request(version_info=has)))
    await asyncio.sleep(0.2)  # so that it waits; if not yet, the test is as true
    async with asyncio.timeout(3):
        await control.down()
        assert await waiting == (304, "")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (
            discovery_request(
                node={"id": "gateway 1", "metadata": {"token": "guessed"}}
            ),
            401,
        ),
        (discovery_request(node={"id": "gateway 1"}), 401),
        ({}, 401),
        (b"", 401),
        (b"[]", 401),
        (b"\xff", 401),
        (DEEP, 401),
        (discovery_request(node=7), 401),
        (discovery_request(version_info={"token": TOKEN}), 400),
        (b'["token", {"token": "%b"}]' % TOKEN.encode(), 400),
        (b'{"a": {"token": "%b"}, "node": %b' % (TOKEN.encode(), DEEP), 400),
        (b'{"token": "%b", "version_info": "\xff"}' % TOKEN.encode(), 400),
        (b'{"token": "%b"' % TOKEN.encode(), 400),
        (b'{"token": "%b"}' % TOKEN.encode(), 401),
        (b'{"token": "\xff\xff\xff\xff", "node": {}}', 401),
        (
            discovery_request(
                type_url="type.googleapis.com/envoy.config.cluster.v3.Cluster"
            ),
            404,
        ),
        (discovery_request(padding="x" * (256 << 10)), 413),
    ],
)
async def test_who_asks_wrongly_is_told_nothing(
    control: Control, given: Settings, body: object, status: int
) -> None:
    await control.fleet_harness.running()
    got, text = await post(given, body)
    assert got == status
    assert "message" in json.loads(text)
    assert TOKEN not in text


@pytest.mark.usefixtures("control")
async def test_tokens_are_not_guessed_without_end(given: Settings) -> None:
    wrong = discovery_request(node={"metadata": {"token": "guessed"}})
    assert [(await post(given, wrong))[0] for _ in range(4)] == [401, 401, 401, 429]


@pytest.mark.usefixtures("control")
async def test_bodies_that_end_too_early_are_counted(given: Settings) -> None:
    """Who sends none of a token holds a connection, and is no better than a guess."""
    head = f"POST {PATH} HTTP/1.1\r\nHost: leyden.example\r\nContent-Length: 9\r\n\r\na"
    for _ in range(3):
        reader, writer = await asyncio.open_connection("127.0.0.1", given.api_port)
        writer.write(head.encode())
        writer.write_eof()
        assert b" 400 " in await reader.readline()
        writer.close()
        await writer.wait_closed()
    assert (await post(given, discovery_request()))[0] == 429


@pytest.mark.usefixtures("control")
async def test_it_is_asked_by_post_only(given: Settings) -> None:
    assert (await post(given, b"", "GET"))[0] == 405


async def test_without_a_token_nobody_may_ask(
    control: Control, given: Settings
) -> None:
    await control.down()
    control.given = replace_token(given, "")
    await control.up()
    empty = discovery_request(node={"metadata": {"token": ""}})
    for body in (discovery_request(), empty):
        assert (await post(given, body))[0] == 401


@pytest.mark.parametrize("token", ["short", "fifteen letters"])
def test_a_token_that_can_be_guessed_is_refused(given: Settings, token: str) -> None:
    with pytest.raises(SetupError, match="gateway_token: needs 16 characters"):
        gateways.far_gateway(replace_token(given, token))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda given: replace_token(given, ""),
        lambda given: Settings(home=given.home, gateway_token=TOKEN),
        lambda given: Settings(
            home=given.home, gateway_token=TOKEN, gateway_control="https://api.test"
        ),
    ],
)
def test_a_gateway_needs_to_know_whom_to_ask(
    given: Settings, wrong: Callable[[Settings], Settings]
) -> None:
    with pytest.raises(SetupError, match="gateway_control"):
        gateways.far_envoy(wrong(given))


def replace_token(given: Settings, token: str) -> Settings:
    return Settings(
        home=given.home,
        api_port=given.api_port,
        gateway_control=given.gateway_control,
        gateway_token=token,
    )
