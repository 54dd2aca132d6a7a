"""What every runtime promises, asked of each of them."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from leyden.errors import CannotStart, Conflict, NodeAway
from leyden.nodes.rules.nodes import Cause, Node
from leyden.nodes.rules.observations import LndState
from leyden.values import replace
from tests.nodes.contracts.pods import pods_of
from tests.nodes.contracts.runtimes import (
    FakeRuntimeCase,
    LocalRuntimeCase,
    RealRuntimeCase,
    RuntimeCase,
    install_stand_in,
    start,
)
from tests.nodes.rules.nodes import a_node
from tests.waiting import until


@pytest.fixture(
    params=[
        "fake",
        "stand-in",
        pytest.param("real", marks=pytest.mark.real),
        pytest.param("pods", marks=[pytest.mark.real, pytest.mark.long]),
    ]
)
async def case(
    request: pytest.FixtureRequest, memory_path: Path
) -> AsyncIterator[RuntimeCase]:
    if request.param == "fake":
        yield FakeRuntimeCase()
        return
    if request.param == "pods":
        async with pods_of(request.getfixturevalue("up")) as case:
            yield case
        return
    if request.param == "stand-in":
        local = LocalRuntimeCase(memory_path / "nodes", install_stand_in(memory_path))
    else:
        local = RealRuntimeCase(
            memory_path / "nodes", request.getfixturevalue("real_lnd")
        )
    yield local
    await local.close()


@pytest.fixture
def node() -> Node:
    return a_node(id=f"{uuid.uuid4()}N")


async def test_a_start_ends_with_an_address_and_a_process(
    case: RuntimeCase, node: Node
) -> None:
    checkpoints = [
        each async for each in case.runtime.start(node, case.launch_spec(node))
    ]
    assert [bool(each.process) for each in checkpoints][-2:] in ([False, True], [True])
    assert {each.host for each in checkpoints} == {checkpoints[0].host}
    assert checkpoints[-1].revision == node.revision


async def test_what_lnd_says_is_told(case: RuntimeCase, node: Node) -> None:
    node = await start(case, node)
    await until(
        lambda: bool(case.observations) and case.observations[-1].state is not None
    )
    await until(lambda: case.observations[-1].state is LndState.NON_EXISTING)
    observation = await case.runtime.observe(node)
    assert (observation.process, observation.alive, observation.state) == (
        node.process,
        True,
        LndState.NON_EXISTING,
    )


async def test_starting_twice_starts_once(case: RuntimeCase, node: Node) -> None:
    first = await start(case, node)
    again = await start(case, replace(node, revision=9))
    assert (again.process, again.launched_revision) == (
        first.process,
        first.launched_revision,
    )


@pytest.mark.parametrize("step", [1, 2])
async def test_a_start_that_broke_off_is_taken_up(
    case: RuntimeCase, node: Node, step: int
) -> None:
    async with aclosing(case.runtime.start(node, case.launch_spec(node))) as steps:
        async for left_at in steps:  # noqa: B007  the last one is looked at
            step -= 1
            if step == 0:
                break
    case.begin_anew()
    complete = await start(case, node)
    assert complete.host == left_at.host
    assert left_at.process in {"", complete.process}
    assert (await case.runtime.observe(complete)).alive


async def test_a_running_lnd_is_adopted(case: RuntimeCase, node: Node) -> None:
    node = await start(case, node)
    await until(
        lambda: case.observations[-1:] != [] and case.observations[-1].state is not None
    )
    case.begin_anew()
    case.observations.clear()
    observation = await case.runtime.observe(node)
    assert (observation.process, observation.alive) == (node.process, True)
    await case.crash(node)
    await until(
        lambda: case.observations[-1:] != [] and not case.observations[-1].alive
    )
    assert case.observations[-1].process == node.process


async def test_a_stop_ends_lnd_and_may_be_repeated(
    case: RuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    for _ in range(2):
        await case.runtime.stop(node)
        observation = await case.runtime.observe(node)
        assert (observation.alive, observation.stopped_by_owner) == (False, False)


@pytest.mark.parametrize("again", [False, True])
async def test_an_lnd_whose_process_nobody_saved_is_stopped(
    case: RuntimeCase,
    node: Node,
    again: bool,  # noqa: FBT001
) -> None:
    await case.runtime.stop(node)  # there is none yet, and nothing to stop
    started = await start(case, node)
    if again:
        case.begin_anew()
    await case.runtime.stop(node)
    assert not (await case.runtime.observe(started)).alive
    await case.runtime.remove(node)


async def test_a_crash_is_told_as_one(case: RuntimeCase, node: Node) -> None:
    node = await start(case, node)
    await case.crash(node)
    await until(
        lambda: case.observations[-1:] != [] and not case.observations[-1].alive
    )
    assert not case.observations[-1].stopped_by_owner
    end = case.observations[-1].end
    assert (end.cause, end.why) == (Cause.KILLED, "signal SIGKILL")


async def test_the_owners_own_stop_is_told_as_one(
    case: RuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    await until(
        lambda: bool(case.observations) and case.observations[-1].state is not None
    )
    await until(lambda: case.observations[-1].state is LndState.NON_EXISTING)
    await case.ask_to_stop(node)
    await until(lambda: not case.observations[-1].alive)
    assert case.observations[-1].stopped_by_owner
    assert (await case.runtime.observe(node)).stopped_by_owner


async def test_the_owners_own_stop_is_known_even_if_nobody_saw_it(
    case: RuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    await until(
        lambda: bool(case.observations) and case.observations[-1].state is not None
    )
    await until(lambda: case.observations[-1].state is LndState.NON_EXISTING)
    await case.ask_to_stop(node)
    await until(lambda: not case.observations[-1].alive)
    case.begin_anew()
    observation = await case.runtime.observe(node)
    assert (observation.alive, observation.stopped_by_owner) == (False, True)


async def test_after_a_stop_the_next_lnd_has_the_new_revision(
    case: RuntimeCase, node: Node
) -> None:
    first = await start(case, node)
    await case.runtime.stop(first)
    second = await start(case, replace(node, revision=2))
    assert second.process != first.process
    assert second.launched_revision == 2
    assert not (await case.runtime.observe(first)).alive
    assert (await case.runtime.observe(second)).alive


async def test_removing_leaves_nothing_and_may_be_repeated(
    case: RuntimeCase, node: Node, memory_path: Path
) -> None:
    node = await start(case, node)
    await case.runtime.stop(node)
    for _ in range(2):
        await case.runtime.remove(node)
    assert not [path for path in memory_path.rglob("*") if node.id in str(path)]


async def test_a_node_that_runs_is_not_removed(case: RuntimeCase, node: Node) -> None:
    node = await start(case, node)
    with pytest.raises(Conflict):
        await case.runtime.remove(node)
    assert (await case.runtime.observe(node)).alive


async def test_of_a_node_that_is_not_here_nothing_is_known(
    case: RuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    await case.lose(node)
    case.observations.clear()
    observation = await case.runtime.observe(node)
    assert (observation.process, observation.known) == (node.process, False)
    assert case.observations == []


async def test_a_node_whose_wallet_is_not_here_is_not_started_without(
    case: RuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    await case.lose(node)
    lost = replace(node, process="", launched_revision=0, has_wallet=True)
    for _ in range(2):
        with pytest.raises(CannotStart, match=f"node {node.id}.* wallet") as refused:
            await start(case, lost)
        assert case.lost in refused.value.reason
        assert "/" not in refused.value.reason, "its owner is told of no path"
    assert not (await case.runtime.observe(node)).known, "nothing was made for it"
    # Told that there is none any more, it begins anew.
    assert (await start(case, replace(lost, has_wallet=False))).process


async def test_a_node_that_is_forgotten_goes_on_and_is_found_again(
    case: RuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    case.runtime.unwatch(node.id)
    case.runtime.unwatch(node.id)
    assert (await case.runtime.observe(node)).alive
    await case.crash(node)
    await until(
        lambda: case.observations[-1:] != [] and not case.observations[-1].alive
    )


async def test_while_an_lnd_cannot_be_seen_no_second_one_is_started(
    case: RuntimeCase, node: Node
) -> None:
    """As of a pod on a machine that is lost: it may run there still."""
    running = await start(case, node)
    lost = await case.cut_off(running)
    case.observations.clear()
    observation = await case.runtime.observe(lost)
    assert (observation.process, observation.known) == (lost.process, False)
    with pytest.raises(NodeAway):
        await case.runtime.stop(lost)
    with pytest.raises(NodeAway):
        await start(case, lost)
    assert case.observations == []
    await case.reconnect(running)
    assert (await start(case, running)).process == running.process


@pytest.mark.parametrize(
    "case",
    ["fake", pytest.param("pods", marks=[pytest.mark.real, pytest.mark.long])],
    indirect=True,
)
async def test_an_lnd_whose_machine_is_back_is_told_of(
    case: RuntimeCase, node: Node
) -> None:
    """Only of machines that something else watches: here nobody hears of it."""
    node = await start(case, node)
    await until(
        lambda: case.observations[-1:] != [] and case.observations[-1].state is not None
    )
    lost = await case.cut_off(node)
    assert not (await case.runtime.observe(lost)).known
    case.observations.clear()
    await case.reconnect(node)
    await until(lambda: bool(case.observations))
    assert {each.process for each in case.observations} == {node.process}
    assert all(each.known and each.alive for each in case.observations)


async def test_a_runtime_that_is_closed_tells_nothing_and_ends_no_node(
    case: RuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    case.runtime.close()
    case.runtime.close()
    case.observations.clear()
    case.begin_anew()
    assert (await case.runtime.observe(node)).alive
    case.runtime.close()
    case.observations.clear()
    await case.crash(node)
    assert case.observations == []


async def test_what_it_keeps_up_around_nodes_ends_when_it_is_cancelled(
    case: RuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    running = asyncio.create_task(case.runtime.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert (await case.runtime.observe(node)).alive


async def test_a_node_that_was_just_started_is_not_outdated(
    case: RuntimeCase, node: Node
) -> None:
    assert not case.runtime.is_outdated(await start(case, node))


async def test_two_starts_at_once_start_one(case: RuntimeCase, node: Node) -> None:
    one, other = await asyncio.gather(start(case, node), start(case, node))
    assert one.process == other.process
