"""Envoys on other machines, told over our API."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from leyden.base import processes
from leyden.errors import Away, Malformed, NotFound, Unauthorized
from leyden.nodes.gateway.bootstrap import Bootstrap, Control
from leyden.nodes.gateway.discovery import DiscoveryGateway
from leyden.nodes.gateway.envoy import Documents
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.routes import Listener
from leyden.nodes.gateway.supervisor import Supervisor
from leyden.values import replace
from tests.nodes.gateway.apis import TOKEN, Api
from tests.nodes.gateway.calls import ALICE, BOB, HOST, Callers, EchoNode
from tests.nodes.gateway.test_envoy import HARBOUR, LIGHTHOUSE

LISTENING = ListenerOptions(ports={Listener.REST: 8080, Listener.GRPC: 10009})


@pytest.fixture
def discovery() -> DiscoveryGateway:
    return DiscoveryGateway(LISTENING, token=TOKEN)


def discovery_request(
    version: str = "", *, token: str = TOKEN, **more: object
) -> bytes:
    node = {"id": "gateway 1", "metadata": {"token": token}, "extensions": []}
    return json.dumps({"version_info": version, "node": node, **more}).encode()


async def test_a_gateway_is_told_what_it_has_not(discovery: DiscoveryGateway) -> None:
    await discovery.apply([HARBOUR])
    answer = await discovery.answer(discovery_request(), patience_s=0)
    assert answer == Documents(LISTENING).document([HARBOUR]).content
    version = json.loads(answer)["version_info"]
    assert await discovery.answer(discovery_request(version), patience_s=0) is None


async def test_a_change_answers_who_is_waiting(discovery: DiscoveryGateway) -> None:
    await discovery.apply([HARBOUR])
    version = Documents(LISTENING).document([HARBOUR]).version
    waiting = asyncio.create_task(
        discovery.answer(discovery_request(version), patience_s=30)
    )
    await asyncio.sleep(0)
    await discovery.apply([HARBOUR])  # no change
    await asyncio.sleep(0)
    assert not waiting.done()
    await discovery.apply([HARBOUR, LIGHTHOUSE])
    answer = await asyncio.wait_for(waiting, 5)
    assert answer is not None
    assert b"lighthouse" in answer


async def test_before_the_first_routes_nobody_is_told_that_there_are_none(
    discovery: DiscoveryGateway,
) -> None:
    with pytest.raises(Away, match="not known yet"):
        await discovery.answer(discovery_request(), patience_s=0)


async def test_one_that_does_not_take_its_routes_is_not_asked_without_pause(
    discovery: DiscoveryGateway,
) -> None:
    await discovery.apply([HARBOUR])
    assert await discovery.answer(discovery_request(), patience_s=0.05)
    began = asyncio.get_running_loop().time()
    assert await discovery.answer(discovery_request(), patience_s=0.05)
    assert asyncio.get_running_loop().time() - began > 0.04


async def test_who_is_no_gateway_learns_nothing(discovery: DiscoveryGateway) -> None:
    await discovery.apply([HARBOUR])
    for token in ("", "21 million", "ключ"):
        with pytest.raises(Unauthorized):
            await discovery.answer(discovery_request(token=token), patience_s=0)
    with pytest.raises(Unauthorized):
        await discovery.answer(b"{}", patience_s=0)


SHOWN = b'{"token": "%b"' % TOKEN.encode()
DEEP = b"[" * 200_000


@pytest.mark.parametrize(
    "body",
    [
        SHOWN,
        b"[%b}]" % SHOWN,
        b'%b, "node": 7}' % SHOWN,
        b'%b, "version_info": "\xff"}' % SHOWN,
        b'%b, "x": %b' % (SHOWN, DEEP),
    ],
)
async def test_what_is_no_request_is_refused(
    discovery: DiscoveryGateway, body: bytes
) -> None:
    with pytest.raises(Malformed):
        await discovery.answer(body, patience_s=0)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"node": 7}', b"\xff", DEEP, b'{"token": "\xff\xff"}' + DEEP],
)
async def test_nothing_is_read_of_who_shows_no_token(
    discovery: DiscoveryGateway, body: bytes
) -> None:
    with pytest.raises(Unauthorized):
        await discovery.answer(body, patience_s=0)


async def test_the_token_is_shown_where_it_belongs(discovery: DiscoveryGateway) -> None:
    with pytest.raises(Unauthorized):
        await discovery.answer(SHOWN + b"}", patience_s=0)


async def test_only_listeners_can_be_asked_for(discovery: DiscoveryGateway) -> None:
    clusters = discovery_request(
        type_url="type.googleapis.com/envoy.config.cluster.v3.Cluster"
    )
    with pytest.raises(NotFound):
        await discovery.answer(clusters, patience_s=0)


def test_a_control_plane_over_tls_needs_a_ca_file() -> None:
    for url, ca_path in (("https://api.test", ""), ("http://api.test", "ca.pem")):
        with pytest.raises(ValueError, match="https needs a CA file"):
            Control(url=url, token=TOKEN, ca_path=ca_path)


@pytest.fixture
async def far_gateway(
    api: Api, tmp_path: Path, envoy: Path
) -> AsyncIterator[Supervisor]:
    control = Control(url=f"http://{HOST}:{api.port}", token=TOKEN, patience_s=6)
    bootstrap = Bootstrap(control=control)
    made = Supervisor(tmp_path / "far", bootstrap, envoy=envoy)
    await made.start()
    yield made
    await made.stop()


@pytest.mark.real
@pytest.mark.usefixtures("far_gateway")
async def test_a_far_gateway_follows_and_cuts_within_a_second(
    api: Api, callers: Callers, first_node: EchoNode, second_node: EchoNode
) -> None:
    await api.gateway.apply([first_node.route(ALICE, BOB), second_node.route(ALICE)])
    await callers.get_in(first_node.name, ALICE)
    alices = await callers.call(first_node.name, ALICE)
    bobs = await callers.call(first_node.name, BOB)
    await api.gateway.apply([first_node.route(ALICE), second_node.route(ALICE)])
    assert await bobs.ended(within_s=10)
    assert not await callers.admitted(first_node.name, BOB)
    assert await alices.open()
    assert max(api.sizes) < 256 * 1024


@pytest.mark.real
async def test_a_far_gateway_goes_on_without_us_and_lets_nobody_new_in(
    api: Api,
    far_gateway: Supervisor,
    tmp_path: Path,
    callers: Callers,
    first_node: EchoNode,
) -> None:
    await api.gateway.apply([first_node.route(ALICE)])
    await callers.get_in(first_node.name, ALICE)
    made = await callers.call(first_node.name, ALICE)
    await api.down()
    assert await made.open()
    assert await callers.admitted(first_node.name, ALICE)
    assert not await callers.admitted(first_node.name, BOB)

    # and one that starts meanwhile knows nobody, so nobody gets in
    killed = processes.holder(tmp_path / "far" / "claim")
    assert killed is not None
    await far_gateway.stop()
    await far_gateway.start()
    assert not await callers.admitted(first_node.name, ALICE)

    await api.up()
    await callers.get_in(first_node.name, ALICE)


@pytest.mark.real
async def test_a_far_gateway_whose_token_is_wrong_is_told_nothing(
    api: Api, tmp_path: Path, envoy: Path, callers: Callers, first_node: EchoNode
) -> None:
    await api.gateway.apply([first_node.route(ALICE)])
    control = Control(url=f"http://{HOST}:{api.port}", token="guessed", patience_s=6)
    stranger = Supervisor(tmp_path / "s", Bootstrap(control=control), envoy=envoy)
    await stranger.start()
    async with asyncio.timeout(30):
        while not api.sizes:
            await asyncio.sleep(0.01)
    assert not await callers.admitted(first_node.name, ALICE)
    await stranger.stop()


def test_two_replicas_tell_the_same_version() -> None:
    documents: list[Any] = [
        Documents(replace(LISTENING)).document(routes)
        for routes in ([HARBOUR, LIGHTHOUSE], [LIGHTHOUSE, HARBOUR])
    ]
    assert documents[0] == documents[1]
