"""Who gets in, with the real Envoy, from the first packet to the last."""

import asyncio
from ipaddress import ip_address
from pathlib import Path

import pytest

from leyden.nodes.gateway.bootstrap import Bootstrap
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.gateway.routes import APART, Listener
from leyden.values import replace
from tests.nodes.gateway.calls import ALICE, BOB, CHARLIE, Callers, EchoNode

pytestmark = pytest.mark.real


async def test_only_listed_addresses_get_in(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode
) -> None:
    await gateway.apply([first_node.route(ALICE)])
    assert await callers.admitted(first_node.name, ALICE)
    assert not await callers.admitted(first_node.name, BOB)


async def test_a_block_lets_in_its_addresses_and_no_others(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode
) -> None:
    await gateway.apply([first_node.route("127.0.0.12/31")])
    assert await callers.admitted(first_node.name, BOB)
    assert await callers.admitted(first_node.name, CHARLIE)
    assert not await callers.admitted(first_node.name, ALICE)


async def test_an_empty_whitelist_lets_nobody_in(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode
) -> None:
    await gateway.apply([first_node.route()])
    assert not await callers.admitted(first_node.name, ALICE)


async def test_everyone_is_spelled_out(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode
) -> None:
    await gateway.apply([first_node.route("0.0.0.0/0", "::/0")])
    assert await callers.admitted(first_node.name, CHARLIE)


async def test_a_whitelist_is_its_nodes_own(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode, second_node: EchoNode
) -> None:
    await gateway.apply([first_node.route(ALICE), second_node.route(BOB)])
    assert not await callers.admitted(first_node.name, BOB)
    assert not await callers.admitted(second_node.name, ALICE)
    made = await callers.call(second_node.name, BOB)
    assert await made.ask("who is it") == "lighthouse.nodes.test: who is it"


async def test_a_removed_address_is_cut_within_a_second_and_nobody_else(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode, second_node: EchoNode
) -> None:
    other = second_node.route(ALICE)
    await gateway.apply([first_node.route(ALICE, BOB), other])
    alices = await callers.call(first_node.name, ALICE)
    bobs = await callers.call(first_node.name, BOB)
    elsewhere = await callers.call(second_node.name, ALICE)
    assert await alices.open()
    assert await bobs.open()
    assert await elsewhere.open()

    await gateway.apply([first_node.route(ALICE), other])

    assert await bobs.ended(within_s=10)
    assert not await callers.admitted(first_node.name, BOB)
    assert await alices.open()
    assert await elsewhere.open()


async def test_a_node_that_goes_takes_its_connections_with_it(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode
) -> None:
    await gateway.apply([first_node.route(ALICE)])
    alices = await callers.call(first_node.name, ALICE)
    await gateway.apply([])
    assert await alices.ended(within_s=10)
    assert not await callers.admitted(first_node.name, ALICE)


async def test_two_hundred_connections_live_through_a_hundred_changes(
    tmp_path: Path,
    listening: ListenerOptions,
    envoy: Path,
    callers: Callers,
    first_node: EchoNode,
    second_node: EchoNode,
) -> None:
    roomy = replace(listening, connections_per_node=1_000)
    gateway = LocalGateway(tmp_path / "gateway", roomy, Bootstrap(), envoy=envoy)
    await gateway.start()
    sources = [str(ip_address(ALICE) + 10 + number) for number in range(10)]
    other = second_node.route(*sources)
    await gateway.apply([first_node.route(*sources), other])
    calls = [
        await callers.call(node.name, source)
        for node in (first_node, second_node)
        for source in sources
        for _ in range(10)
    ]
    for number in range(100):
        newcomer = (BOB,) if number % 2 == 0 else ()
        await gateway.apply([first_node.route(*sources, *newcomer), other])
        if newcomer:
            made = await callers.call(first_node.name, BOB)
            assert await made.open()
        else:
            assert await made.ended(within_s=10)
    assert len(calls) == 200
    assert all(await asyncio.gather(*(each.open() for each in calls)))
    await gateway.stop()


async def test_a_long_whitelist_holds_to_its_last_entry(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode
) -> None:
    block = [f"127.0.{i // 200 + 1}.{i % 200 + 1}" for i in range(500)]
    assert len(block) > APART
    await gateway.apply([first_node.route(*block)])
    assert await callers.admitted(first_node.name, block[-1])
    assert not await callers.admitted(first_node.name, ALICE)
    made = await callers.call(first_node.name, block[-1])
    await gateway.apply([first_node.route(*block[:-1])])
    assert await made.ended(within_s=10)
    assert not await callers.admitted(first_node.name, block[-1])
    assert await callers.admitted(first_node.name, block[0])


async def test_each_door_has_a_switch_that_works_at_once(
    gateway: LocalGateway,
    callers: Callers,
    listening: ListenerOptions,
    first_node: EchoNode,
    second_node: EchoNode,
) -> None:
    grpc_port = listening.ports[Listener.GRPC]
    on = first_node.route(ALICE)
    both = replace(on, grpc=second_node.address)
    await gateway.apply([both])
    rest = await callers.call(first_node.name)
    grpc = await callers.call(first_node.name, port=grpc_port)
    assert await rest.ask("one") == "harbour.nodes.test: one"
    assert await grpc.ask("two") == "lighthouse.nodes.test: two"

    await gateway.apply([on])
    assert await grpc.ended(within_s=10)
    assert not await callers.admitted(first_node.name, port=grpc_port)
    assert await rest.open()
