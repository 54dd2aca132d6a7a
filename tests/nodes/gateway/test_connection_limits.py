"""How many connections one source and one node may have, with the real Envoy."""

import asyncio
from ipaddress import ip_address
from pathlib import Path

import pytest

from leyden.errors import SetupError
from leyden.nodes.gateway import hash_key
from leyden.nodes.gateway.bootstrap import Bootstrap
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.values import replace
from tests.nodes.gateway.calls import ALICE, BOB, CHARLIE, Call, Callers, EchoNode
from tests.nodes.gateway.connection_limits import FILTER, compiled

PER_SOURCE = 20  # as the fixtures set them
PER_NODE = 30


async def fill(
    callers: Callers, name: str, source: str, *, tries: int = 0
) -> list[Call]:
    """Call until refused; give those that got in."""
    made = []
    for _ in range(tries or PER_NODE + 5):
        try:
            each = await callers.call(name, source)
        except OSError:
            break
        if not await each.open():
            break
        made.append(each)
    return made


@pytest.mark.real
async def test_one_source_has_so_many_connections_and_others_theirs(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode, second_node: EchoNode
) -> None:
    routes = [first_node.route("0.0.0.0/0"), second_node.route("0.0.0.0/0")]
    await gateway.apply(routes)
    alices = await fill(callers, first_node.name, ALICE)
    assert len(alices) == PER_SOURCE
    assert await callers.admitted(first_node.name, BOB)
    # the cap of a source is for all nodes
    assert not await callers.admitted(second_node.name, ALICE)
    assert all(await asyncio.gather(*(each.open() for each in alices)))


# By FNV-1a, and by every hash that anybody can compute, such addresses can be found.
LIKE_ALICE = "127.4.22.142"


@pytest.mark.real
async def test_nobody_finds_an_address_that_is_counted_as_somebody_elses(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode, second_node: EchoNode
) -> None:
    await gateway.apply([first_node.route("0.0.0.0/0"), second_node.route("0.0.0.0/0")])
    assert len(await fill(callers, first_node.name, LIKE_ALICE)) == PER_SOURCE
    assert await callers.admitted(second_node.name, ALICE)


def test_a_gateway_that_is_not_started_leaves_nothing(
    tmp_path: Path, listening: ListenerOptions
) -> None:
    folder = tmp_path / "home" / "gateway"
    LocalGateway(folder, listening, Bootstrap(), envoy=Path("/nowhere"))
    assert list(tmp_path.iterdir()) == []


def test_each_gateway_hashes_with_a_key_of_its_own_that_stays(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "another"]
    keys = [hash_key.load_or_create(folder) for folder in folders]
    assert keys == [hash_key.load_or_create(folder) for folder in folders]
    assert len({hash_key.PLACEHOLDER, *keys}) == 3
    assert (folders[0] / "limits.key").stat().st_mode & 0o777 == 0o600
    assert [each.name for each in folders[0].iterdir()] == ["limits.key"]
    for key in keys:
        made = hash_key.with_key(key)
        assert (key in made, hash_key.PLACEHOLDER in made) == (True, False)
    (folders[0] / "limits.key").write_bytes(b"")
    with pytest.raises(SetupError, match=r"limits\.key: must have 16 bytes"):
        hash_key.with_key(hash_key.load_or_create(folders[0]))


@pytest.mark.real
async def test_one_node_has_so_many_connections_and_others_theirs(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode, second_node: EchoNode
) -> None:
    routes = [first_node.route("0.0.0.0/0"), second_node.route("0.0.0.0/0")]
    await gateway.apply(routes)
    alices = await fill(callers, first_node.name, ALICE)
    bobs = await fill(callers, first_node.name.upper(), BOB)
    assert len(alices) + len(bobs) == PER_NODE
    assert not await callers.admitted(first_node.name, CHARLIE)
    assert await callers.admitted(second_node.name, CHARLIE)


@pytest.mark.real
async def test_both_listeners_count_together(
    gateway: LocalGateway,
    callers: Callers,
    first_node: EchoNode,
    listening: ListenerOptions,
) -> None:
    await gateway.apply([replace(first_node.route(ALICE), grpc=first_node.address)])
    for port in listening.ports.values():
        for _ in range(PER_SOURCE // 2):
            made = await callers.call(first_node.name, ALICE, port=port)
            assert await made.open()
    for port in listening.ports.values():
        assert not await callers.admitted(first_node.name, ALICE, port=port)


@pytest.mark.real
async def test_the_counts_come_back_to_nothing(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode
) -> None:
    """However connections end: by the caller, by a cut, by being refused."""
    for number in range(6):
        await gateway.apply([first_node.route(ALICE, BOB)])
        made = await fill(callers, first_node.name, ALICE)
        assert len(made) == PER_SOURCE, f"in round {number}"
        await asyncio.gather(*(each.close() for each in made[::2]))
        await gateway.apply([first_node.route(BOB)])
        for each in made[1::2]:
            assert await each.ended(within_s=10)


@pytest.mark.real
async def test_many_at_once_are_counted_right(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode
) -> None:
    """On two threads of Envoy that share the counters."""
    await gateway.apply([first_node.route("127.0.0.0/8")])
    for _ in range(5):
        attempts = [callers.admitted(first_node.name, ALICE) for _ in range(60)]
        await asyncio.gather(*attempts)

    async def emptied() -> bool:
        made = await fill(callers, first_node.name, ALICE)
        await asyncio.gather(*(each.close() for each in made))
        return len(made) == PER_SOURCE

    async with asyncio.timeout(30):
        while not await emptied():
            await asyncio.sleep(0.05)


@pytest.mark.real
async def test_a_new_source_in_each_call_is_no_trouble(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode
) -> None:
    await gateway.apply([first_node.route("127.0.0.0/8")])
    sources = [str(ip_address("127.1.0.1") + number) for number in range(300)]
    for source in sources:
        assert await callers.admitted(first_node.name, source)


def test_the_filter_is_what_the_pinned_compiler_makes_of_its_source() -> None:
    # If not: python -m tests.nodes.gateway.connection_limits
    assert compiled() == FILTER.read_bytes()
