"""One suite for every gateway. Whitelists are for the real one: tests/nodes/gateway."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leyden.errors import SetupError
from leyden.nodes.gateway.bootstrap import Bootstrap
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.gateway.routes import Listener, Route, UpstreamAddress
from leyden.nodes.gateway.supervisor import program
from leyden.values import replace
from tests.fakes.gateway import FakeGateway
from tests.nodes.contracts.gateways import Case
from tests.nodes.gateway.calls import Callers, echo_node
from tests.ports import free_port


@pytest.fixture(params=["fake", pytest.param("local", marks=pytest.mark.real)])
async def case(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Case]:
    now = datetime.now(UTC)
    async with (
        echo_node("harbour.nodes.test", tmp_path, now) as first_node,
        echo_node("lighthouse.nodes.test", tmp_path, now) as second_node,
    ):
        addresses = {node.name: node.address for node in (first_node, second_node)}
        if request.param == "fake":
            fake = FakeGateway()

            async def looked_up(
                name: str, listener: Listener
            ) -> UpstreamAddress | None:
                return fake.resolve(name, listener)

            yield Case(fake, looked_up, first_node.address, second_node.address)
            return
        try:
            envoy = program()
        except SetupError as error:
            pytest.skip(str(error))
        ports = {listener: free_port() for listener in Listener}
        folder = tmp_path / "gateway"
        local = LocalGateway(
            folder, ListenerOptions(ports=ports), Bootstrap(), envoy=envoy
        )
        await local.start()
        callers = Callers(ports[Listener.REST])

        async def called(name: str, listener: Listener) -> UpstreamAddress | None:
            try:
                made = await callers.call(name, port=ports[listener])
                answer = await made.ask("who is it")
            except OSError:
                return None
            return addresses[answer.partition(":")[0]]

        yield Case(local, called, first_node.address, second_node.address)
        await callers.hang_up()
        await local.stop()


def a_route(case: Case) -> Route:
    return Route(
        node_id="5f3e",
        name="harbour.nodes.test",
        whitelist=("127.0.0.0/8",),
        rest=case.harbour,
        grpc=case.lighthouse,
    )


async def test_a_route_leads_through_both_listeners(case: Case) -> None:
    await case.gateway.apply([a_route(case)])
    assert await case.reach("harbour.nodes.test", Listener.REST) == case.harbour
    assert await case.reach("harbour.nodes.test", Listener.GRPC) == case.lighthouse


async def test_the_case_of_a_name_does_not_matter(case: Case) -> None:
    await case.gateway.apply([replace(a_route(case), name="Harbour.nodes.TEST")])
    assert await case.reach("HARBOUR.Nodes.test", Listener.REST) == case.harbour


async def test_an_unknown_name_leads_nowhere(case: Case) -> None:
    await case.gateway.apply([a_route(case)])
    assert await case.reach("lighthouse.nodes.test", Listener.REST) is None


async def test_an_empty_whitelist_leads_nowhere(case: Case) -> None:
    await case.gateway.apply([replace(a_route(case), whitelist=())])
    assert await case.reach("harbour.nodes.test", Listener.REST) is None


async def test_a_listener_can_be_switched_off_and_on(case: Case) -> None:
    route = a_route(case)
    await case.gateway.apply([replace(route, grpc=None)])
    assert await case.reach("harbour.nodes.test", Listener.GRPC) is None
    assert await case.reach("harbour.nodes.test", Listener.REST) == case.harbour
    await case.gateway.apply([route])
    assert await case.reach("harbour.nodes.test", Listener.GRPC) == case.lighthouse


async def test_what_is_applied_is_all_there_is(case: Case) -> None:
    first = a_route(case)
    second = replace(
        first, node_id="77aa", name="lighthouse.nodes.test", rest=case.lighthouse
    )
    await case.gateway.apply([first, second])
    assert await case.reach("lighthouse.nodes.test", Listener.REST) == case.lighthouse
    await case.gateway.apply([second])
    assert await case.reach("harbour.nodes.test", Listener.REST) is None
    assert await case.reach("lighthouse.nodes.test", Listener.REST) == case.lighthouse
    await case.gateway.apply([])
    assert await case.reach("lighthouse.nodes.test", Listener.REST) is None


async def test_a_node_can_move(case: Case) -> None:
    route = a_route(case)
    await case.gateway.apply([route])
    assert await case.reach("harbour.nodes.test", Listener.REST) == case.harbour
    await case.gateway.apply([replace(route, rest=case.lighthouse)])
    assert await case.reach("harbour.nodes.test", Listener.REST) == case.lighthouse


async def test_started_again_it_goes_on_with_its_routes(case: Case) -> None:
    await case.gateway.apply([a_route(case)])
    await case.gateway.start()
    assert await case.reach("harbour.nodes.test", Listener.REST) == case.harbour


async def test_it_goes_on_when_nobody_looks_after_it_any_more(case: Case) -> None:
    await case.gateway.apply([a_route(case)])
    running = asyncio.create_task(case.gateway.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert await case.reach("harbour.nodes.test", Listener.REST) == case.harbour


async def test_the_same_again_changes_nothing(case: Case) -> None:
    await case.gateway.apply([a_route(case)])
    await case.gateway.apply([a_route(case)])
    assert await case.reach("harbour.nodes.test", Listener.REST) == case.harbour


async def test_two_nodes_of_one_name_are_refused_and_nothing_changes(
    case: Case,
) -> None:
    route = a_route(case)
    await case.gateway.apply([route])
    twin = replace(route, node_id="77aa", rest=case.lighthouse)
    with pytest.raises(ValueError, match="is the name of both"):
        await case.gateway.apply([route, twin])
    assert await case.reach("harbour.nodes.test", Listener.REST) == case.harbour


async def test_figures_are_of_nodes_with_a_route(case: Case) -> None:
    await case.gateway.apply([a_route(case)])
    found = await case.gateway.traffic()
    assert found is not None
    assert set(found) <= {"5f3e"}
