"""Behind a load balancer, with the real Envoy: whose word about addresses counts."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.nodes.gateway.bootstrap import Bootstrap
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.values import replace
from tests.nodes.gateway.calls import ALICE, BOB, CHARLIE, HOST, EchoNode
from tests.nodes.gateway.test_hello import client_hello

pytestmark = pytest.mark.real

BALANCER = "127.0.0.77"
OTHER_BALANCER = "127.0.0.78"


@pytest.fixture
async def gateway(
    tmp_path: Path, listening: ListenerOptions, envoy: Path, first_node: EchoNode
) -> AsyncIterator[LocalGateway]:
    behind = replace(listening, balancers=(BALANCER, "127.0.0.78/32"))
    made = LocalGateway(tmp_path / "gateway", behind, Bootstrap(), envoy=envoy)
    await made.start()
    await made.apply([first_node.route(ALICE)])
    yield made
    await made.stop()


async def heard(port: int, *, peer: str, claims: str | None, name: str) -> bool:
    """Come from `peer`, say one comes from `claims`, and see whether a node answers."""
    preamble = f"PROXY TCP4 {claims} {HOST} 4711 {port}\r\n" if claims else ""
    with socket.socket() as caller:
        caller.setblocking(False)  # noqa: FBT003
        caller.bind((peer, 0))
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(5):
            try:
                await loop.sock_connect(caller, (HOST, port))
                await loop.sock_sendall(caller, preamble.encode() + client_hello(name))
                return bool(await loop.sock_recv(caller, 100))
            except OSError:
                return False


@pytest.mark.usefixtures("gateway")
async def test_a_balancers_word_counts(port: int, first_node: EchoNode) -> None:
    for peer in (BALANCER, OTHER_BALANCER):
        assert await heard(port, peer=peer, claims=ALICE, name=first_node.name)
        assert not await heard(port, peer=peer, claims=BOB, name=first_node.name)


@pytest.mark.usefixtures("gateway")
async def test_anybody_elses_word_does_not(port: int, first_node: EchoNode) -> None:
    for peer in (ALICE, CHARLIE):
        assert not await heard(port, peer=peer, claims=ALICE, name=first_node.name)


@pytest.mark.usefixtures("gateway")
async def test_nobody_gets_in_past_the_balancers(
    port: int, first_node: EchoNode
) -> None:
    assert not await heard(port, peer=ALICE, claims=None, name=first_node.name)
    assert not await heard(port, peer=BALANCER, claims=None, name=first_node.name)


async def test_a_balancers_own_address_is_no_callers(
    gateway: LocalGateway, port: int, first_node: EchoNode
) -> None:
    await gateway.apply([first_node.route(BALANCER)])
    assert not await heard(port, peer=BALANCER, claims=ALICE, name=first_node.name)
    assert not await heard(port, peer=BALANCER, claims=None, name=first_node.name)
