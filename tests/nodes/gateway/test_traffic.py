"""What each node has sent and got, with the real Envoy."""

import asyncio

import pytest

from leyden.nodes.gateway.base import Traffic
from leyden.nodes.gateway.local import LocalGateway
from tests.nodes.gateway.calls import ALICE, Callers, EchoNode

pytestmark = pytest.mark.real


async def test_figures_are_kept_by_node(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode, second_node: EchoNode
) -> None:
    await gateway.apply([first_node.route(ALICE), second_node.route(ALICE)])
    made = await callers.call(first_node.name)
    await made.ask("x" * 20_000)
    await callers.call(second_node.name)
    await callers.call(second_node.name)

    async with asyncio.timeout(30):
        while (found := await gateway.traffic() or {}).get(
            "harbour", Traffic()
        ).bytes_out <= 20_000 or found.get("lighthouse", Traffic()).connections < 2:
            await asyncio.sleep(0.01)
    assert set(found) == {"harbour", "lighthouse"}
    assert found["harbour"].connections == 1
    assert 20_000 < found["harbour"].bytes_in < 25_000
    assert 20_000 < found["harbour"].bytes_out < 25_000
    assert found["lighthouse"].connections == 2


async def test_without_envoy_no_figures_are_known(gateway: LocalGateway) -> None:
    await gateway.stop()
    assert await gateway.traffic() is None
