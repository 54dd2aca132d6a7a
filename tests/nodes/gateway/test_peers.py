"""Peers come to a port of the node's own, without TLS and without a whitelist."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from leyden.errors import Away
from leyden.nodes.gateway.base import Traffic
from leyden.nodes.gateway.bootstrap import Bootstrap
from leyden.nodes.gateway.envoy import Documents
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.gateway.routes import Listener, PeerPort, Route, UpstreamAddress
from leyden.values import replace
from tests.nodes.gateway.calls import ALICE, BOB, HOST
from tests.nodes.gateway.test_envoy import HARBOUR, LIGHTHOUSE
from tests.ports import free_port
from tests.waiting import until

PATIENCE_S = 30.0
OWN = "127.0.0.99"
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
def listening() -> ListenerOptions:
    return ListenerOptions(
        ports={listener: free_port() for listener in Listener},
        connections_per_source=4,
        peer_connections_per_source=3,
        peer_connections_per_node=4,
        own_addresses=(f"{OWN}/32",),
    )


@pytest.fixture
async def first_node() -> AsyncIterator[UpstreamAddress]:
    """Where a node waits for its peers: it sends back what it is sent."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while part := await reader.read(65_536):
                writer.write(part)
        writer.close()

    server = await asyncio.start_server(echo, HOST, 0)
    yield UpstreamAddress(HOST, server.sockets[0].getsockname()[1])
    server.close()


@pytest.fixture
def route(first_node: UpstreamAddress) -> Route:
    """A node that nobody but its peers may reach."""
    peers = PeerPort(free_port(), first_node)
    return replace(HARBOUR, whitelist=(), peers=peers)


@pytest.fixture
async def lines() -> AsyncIterator[list[Line]]:
    """All connections of a test, closed after it."""
    opened: list[Line] = []
    yield opened
    for _, writer in opened:
        writer.close()


async def is_let_in(lines: list[Line], route: Route, source: str) -> bool:
    """Connect as a peer; it stays connected if it is answered."""
    assert route.peers is not None
    reader, writer = await asyncio.open_connection(
        HOST, route.peers.port, local_addr=(source, 0)
    )
    lines.append((reader, writer))
    try:
        writer.write(b"act one")
        await writer.drain()
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read(100) == b"act one"
    except ConnectionError:
        return False


async def is_refused(lines: list[Line], route: Route, source: str) -> bool:
    """Connect in vain as a peer."""
    return not await is_let_in(lines, route, source)


async def gets_in(lines: list[Line], route: Route, source: str) -> None:
    """Connect as a peer, after somebody was refused.

    Who is refused hears it a moment before another thread of Envoy stops counting it.
    """
    await until(
        partial(is_let_in, lines, route, source), within_s=PATIENCE_S, every_s=0.1
    )


@pytest.mark.real
async def test_a_stranger_reaches_the_node_and_their_bytes_are_counted(
    gateway: LocalGateway, route: Route, lines: list[Line]
) -> None:
    await gateway.apply([route, LIGHTHOUSE])
    assert await is_let_in(lines, route, ALICE)
    async with asyncio.timeout(PATIENCE_S):
        while (
            found := (await gateway.traffic() or {}).get("5f3e", Traffic())
        ) != Traffic(connections=1, bytes_in=7, bytes_out=7):
            await asyncio.sleep(0.01)
    assert found.connections == 1


@pytest.mark.real
async def test_peers_are_limited_by_source_and_by_node_but_for_our_own(
    gateway: LocalGateway, route: Route, lines: list[Line]
) -> None:
    other = replace(
        LIGHTHOUSE,
        peers=replace(route.peers, port=free_port()) if route.peers else None,
    )
    await gateway.apply([route, other])
    for _ in range(3):
        assert await is_let_in(lines, route, ALICE)
    assert await is_refused(lines, route, ALICE)  # three of one source at one node
    await gets_in(lines, other, ALICE)
    assert await is_refused(lines, other, ALICE)  # four of one source
    await gets_in(lines, route, BOB)
    assert await is_refused(lines, route, BOB)  # four of one node
    for _ in range(4):
        await gets_in(lines, other, OWN)
    assert await is_refused(lines, other, OWN)


@pytest.mark.real
async def test_who_floods_from_this_machine_takes_no_strangers_places(
    gateway: LocalGateway, route: Route, lines: list[Line]
) -> None:
    """All who come by a Tor on this machine have its address, which is our own."""
    await gateway.apply([route])
    for _ in range(4):
        assert await is_let_in(lines, route, OWN)
    assert await is_refused(lines, route, OWN)
    for source in (ALICE, ALICE, ALICE, BOB):
        await gets_in(lines, route, source)


@pytest.mark.real
async def test_a_source_that_floods_holds_few_and_another_one_connects_at_once(
    tmp_path: Path,
    listening: ListenerOptions,
    envoy: Path,
    route: Route,
    lines: list[Line],
) -> None:
    # Three each, and one that is being refused: it takes a place of the node for this
    # moment, on the other of Envoy's threads.
    room = replace(listening, peer_connections_per_node=3 + 3 + 1)
    gateway = LocalGateway(
        tmp_path / "gateway", room, Bootstrap(), envoy=envoy, workers=2
    )
    held: list[Line] = []

    async def flood() -> None:
        while True:
            mine: list[Line] = []
            try:
                if await is_let_in(mine, route, ALICE):
                    held.append(mine.pop())
            finally:  # cancelled, too
                for _, writer in mine:
                    writer.close()

    flooding: list[asyncio.Task[None]] = []
    try:
        await gateway.start()
        await gateway.apply([route])
        flooding += [asyncio.create_task(flood()) for _ in range(16)]
        await until(lambda: len(held) == 3, within_s=PATIENCE_S)
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(3):
                assert await is_let_in(lines, route, BOB)
        assert len(held) == 3
    finally:
        for task in flooding:
            task.cancel()
        await asyncio.gather(*flooding, return_exceptions=True)
        for _, writer in held:
            writer.close()
        await gateway.stop()


async def let_in_in_turn(route: Route, sources: Sequence[str]) -> int:
    """Connect once from each, one after the other; count who is let in."""
    let_in, lines = 0, list[Line]()
    for source in sources:
        let_in += await is_let_in(lines, route, source)
        writer = lines.pop()[1]
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        await asyncio.sleep(0.005)  # until the gateway has heard of it
    return let_in


@pytest.mark.real
async def test_a_source_begins_so_many_in_a_second_and_others_theirs(
    tmp_path: Path, listening: ListenerOptions, envoy: Path, route: Route
) -> None:
    slow = replace(listening, peer_arrivals_per_source=2)
    gateway = LocalGateway(tmp_path / "gateway", slow, Bootstrap(), envoy=envoy)
    lines: list[Line] = []
    try:
        await gateway.start()
        await gateway.apply([route])
        began = time.monotonic()
        let_in = await let_in_in_turn(route, [ALICE] * 60)
        limit = 2 * (10 + time.monotonic() - began) + 1
        assert 2 * 10 <= let_in <= limit < 60
        assert await is_let_in(lines, route, BOB)
    finally:
        for _, writer in lines:
            writer.close()
        await gateway.stop()


@pytest.mark.real
async def test_a_node_is_begun_with_so_often_by_many_sources_and_others_as_often(
    tmp_path: Path, listening: ListenerOptions, envoy: Path, route: Route
) -> None:
    slow = replace(listening, peer_arrivals_per_node=2)
    gateway = LocalGateway(tmp_path / "gateway", slow, Bootstrap(), envoy=envoy)
    assert route.peers is not None
    other = replace(LIGHTHOUSE, peers=replace(route.peers, port=free_port()))
    lines: list[Line] = []
    try:
        await gateway.start()
        await gateway.apply([route, other])
        began = time.monotonic()
        sources = [f"127.77.0.{number + 1}" for number in range(60)]
        let_in = await let_in_in_turn(route, sources)
        limit = 2 * (10 + time.monotonic() - began) + 2
        assert 2 * 10 <= let_in <= limit < 60
        assert await is_let_in(lines, other, "127.77.0.99")
        assert await is_let_in(lines, route, OWN)  # not held to the pace of strangers
    finally:
        for _, writer in lines:
            writer.close()
        await gateway.stop()


@pytest.mark.real
async def test_a_node_that_stops_listening_is_cut_off_and_others_are_not(
    gateway: LocalGateway, route: Route, lines: list[Line]
) -> None:
    other = replace(
        LIGHTHOUSE,
        peers=replace(route.peers, port=free_port()) if route.peers else None,
    )
    await gateway.apply([route, other])
    assert await is_let_in(lines, route, ALICE)
    assert await is_let_in(lines, other, ALICE)
    await gateway.apply([replace(route, peers=None), other])
    (gone, _), (reader, writer) = lines
    async with asyncio.timeout(PATIENCE_S):
        assert await gone.read(1) == b""
        writer.write(b"still here")
        assert await reader.read(100) == b"still here"
    with pytest.raises(ConnectionRefusedError):
        async with asyncio.timeout(PATIENCE_S):
            while True:  # Envoy closes its listening sockets a moment later
                assert not await is_let_in(lines, route, ALICE)


@pytest.mark.real
async def test_a_port_that_another_program_has_keeps_no_other_node_from_its_peers(
    gateway: LocalGateway, route: Route, lines: list[Line]
) -> None:
    blocked = replace(LIGHTHOUSE, peers=PeerPort(free_port(), UpstreamAddress(HOST, 1)))
    assert blocked.peers is not None
    with taken(blocked.peers.port):
        with pytest.raises(
            Away, match=f"another program has port {blocked.peers.port}"
        ):
            await gateway.apply([route, blocked])
        assert await is_let_in(lines, route, ALICE)
        of_another = {blocked.node_id: blocked.peers.port}
        assert await gateway.blocked([route, blocked]) == of_another
        await gateway.apply([route])
    assert await gateway.blocked([route, blocked]) == {}
    await gateway.apply([route, blocked])  # the program is gone
    assert await gateway.blocked([route, blocked]) == {}
    assert await is_let_in(lines, route, ALICE)


@pytest.mark.real
async def test_an_envoy_that_dies_comes_back_though_a_peer_port_is_taken(
    tmp_path: Path, listening: ListenerOptions, envoy: Path, route: Route
) -> None:
    folder = tmp_path / "gateway"
    made = LocalGateway(folder, listening, Bootstrap(), envoy=envoy)
    await made.start()
    await made.apply([route])
    await made.stop()
    assert route.peers is not None
    with taken(route.peers.port):
        try:
            await made.start()
            with pytest.raises(Away, match="another program has port"):
                await made.apply([route, LIGHTHOUSE])
        finally:
            await made.stop()


def test_peers_behind_a_balancer_come_by_it_alone(route: Route) -> None:
    options = ListenerOptions(
        ports={Listener.REST: 1, Listener.GRPC: 2}, balancers=("192.0.2.0/28",)
    )
    *_, peers = json.loads(Documents(options).document([route]).content)["resources"]
    assert len(peers["listener_filters"]) == 1
    for chain in peers["filter_chains"]:
        assert chain["filter_chain_match"]["direct_source_prefix_ranges"] == [
            {"address_prefix": "192.0.2.0", "prefix_len": 28}
        ]


@contextlib.contextmanager
def taken(port: int) -> Iterator[None]:
    with socket.create_server((HOST, port)):
        yield
