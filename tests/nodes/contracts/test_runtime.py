"""What every runtime promises, asked of each of them."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from leyden.errors import CannotStart, Conflict, NodeAway
from leyden.nodes.rules.nodes import Cause, Node
from leyden.nodes.rules.observations import State
from leyden.values import replace
from tests.nodes.contracts.pods import pods_of
from tests.nodes.contracts.runtimes import (
    FakeHands,
    Hands,
    LocalHands,
    RealHands,
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
async def hands(
    request: pytest.FixtureRequest, memory_path: Path
) -> AsyncIterator[Hands]:
    if request.param == "fake":
        yield FakeHands()
        return
    if request.param == "pods":
        async with pods_of(request.getfixturevalue("up")) as hands:
            yield hands
        return
    if request.param == "stand-in":
        local = LocalHands(memory_path / "nodes", install_stand_in(memory_path))
    else:
        local = RealHands(memory_path / "nodes", request.getfixturevalue("real_lnd"))
    yield local
    await local.close()


@pytest.fixture
def node() -> Node:
    return a_node(id=f"{uuid.uuid4()}N")


async def test_a_start_ends_with_an_address_and_a_process(
    hands: Hands, node: Node
) -> None:
    checkpoints = [
        each async for each in hands.runtime.start(node, hands.launch_spec(node))
    ]
    assert [bool(each.process) for each in checkpoints][-2:] in ([False, True], [True])
    assert {each.host for each in checkpoints} == {checkpoints[0].host}
    assert checkpoints[-1].revision == node.revision


async def test_what_lnd_says_is_told(hands: Hands, node: Node) -> None:
    node = await start(hands, node)
    await until(lambda: bool(hands.told) and hands.told[-1].state is not None)
    await until(lambda: hands.told[-1].state is State.NON_EXISTING)
    seen = await hands.runtime.observe(node)
    assert (seen.process, seen.alive, seen.state) == (
        node.process,
        True,
        State.NON_EXISTING,
    )


async def test_starting_twice_starts_once(hands: Hands, node: Node) -> None:
    first = await start(hands, node)
    again = await start(hands, replace(node, revision=9))
    assert (again.process, again.launched_revision) == (
        first.process,
        first.launched_revision,
    )


@pytest.mark.parametrize("step", [1, 2])
async def test_a_start_that_broke_off_is_taken_up(
    hands: Hands, node: Node, step: int
) -> None:
    async with aclosing(hands.runtime.start(node, hands.launch_spec(node))) as steps:
        async for left_at in steps:  # noqa: B007  the last one is looked at
            step -= 1
            if step == 0:
                break
    hands.begin_anew()
    whole = await start(hands, node)
    assert whole.host == left_at.host
    assert left_at.process in {"", whole.process}
    assert (await hands.runtime.observe(whole)).alive


async def test_a_running_lnd_is_adopted(hands: Hands, node: Node) -> None:
    node = await start(hands, node)
    await until(lambda: hands.told[-1:] != [] and hands.told[-1].state is not None)
    hands.begin_anew()
    hands.told.clear()
    seen = await hands.runtime.observe(node)
    assert (seen.process, seen.alive) == (node.process, True)
    await hands.crash(node)
    await until(lambda: hands.told[-1:] != [] and not hands.told[-1].alive)
    assert hands.told[-1].process == node.process


async def test_a_stop_ends_lnd_and_may_be_repeated(hands: Hands, node: Node) -> None:
    node = await start(hands, node)
    for _ in range(2):
        await hands.runtime.stop(node)
        seen = await hands.runtime.observe(node)
        assert (seen.alive, seen.asked) == (False, False)


@pytest.mark.parametrize("again", [False, True])
async def test_an_lnd_whose_process_nobody_saved_is_stopped(
    hands: Hands,
    node: Node,
    again: bool,  # noqa: FBT001
) -> None:
    await hands.runtime.stop(node)  # there is none yet, and nothing to stop
    started = await start(hands, node)
    if again:
        hands.begin_anew()
    await hands.runtime.stop(node)
    assert not (await hands.runtime.observe(started)).alive
    await hands.runtime.remove(node)


async def test_a_crash_is_told_as_one(hands: Hands, node: Node) -> None:
    node = await start(hands, node)
    await hands.crash(node)
    await until(lambda: hands.told[-1:] != [] and not hands.told[-1].alive)
    assert not hands.told[-1].asked
    end = hands.told[-1].end
    assert (end.cause, end.why) == (Cause.KILLED, "signal SIGKILL")


async def test_the_owners_own_stop_is_told_as_one(hands: Hands, node: Node) -> None:
    node = await start(hands, node)
    await until(lambda: bool(hands.told) and hands.told[-1].state is not None)
    await until(lambda: hands.told[-1].state is State.NON_EXISTING)
    await hands.ask_to_stop(node)
    await until(lambda: not hands.told[-1].alive)
    assert hands.told[-1].asked
    assert (await hands.runtime.observe(node)).asked


async def test_the_owners_own_stop_is_known_even_if_nobody_saw_it(
    hands: Hands, node: Node
) -> None:
    node = await start(hands, node)
    await until(lambda: bool(hands.told) and hands.told[-1].state is not None)
    await until(lambda: hands.told[-1].state is State.NON_EXISTING)
    await hands.ask_to_stop(node)
    await until(lambda: not hands.told[-1].alive)
    hands.begin_anew()
    seen = await hands.runtime.observe(node)
    assert (seen.alive, seen.asked) == (False, True)


async def test_after_a_stop_the_next_lnd_has_the_new_revision(
    hands: Hands, node: Node
) -> None:
    first = await start(hands, node)
    await hands.runtime.stop(first)
    second = await start(hands, replace(node, revision=2))
    assert second.process != first.process
    assert second.launched_revision == 2
    assert not (await hands.runtime.observe(first)).alive
    assert (await hands.runtime.observe(second)).alive


async def test_removing_leaves_nothing_and_may_be_repeated(
    hands: Hands, node: Node, memory_path: Path
) -> None:
    node = await start(hands, node)
    await hands.runtime.stop(node)
    for _ in range(2):
        await hands.runtime.remove(node)
    assert not [path for path in memory_path.rglob("*") if node.id in str(path)]


async def test_a_node_that_runs_is_not_removed(hands: Hands, node: Node) -> None:
    node = await start(hands, node)
    with pytest.raises(Conflict):
        await hands.runtime.remove(node)
    assert (await hands.runtime.observe(node)).alive


async def test_of_a_node_that_is_not_here_nothing_is_known(
    hands: Hands, node: Node
) -> None:
    node = await start(hands, node)
    await hands.lose(node)
    hands.told.clear()
    seen = await hands.runtime.observe(node)
    assert (seen.process, seen.known) == (node.process, False)
    assert hands.told == []


async def test_a_node_whose_wallet_is_not_here_is_not_started_without(
    hands: Hands, node: Node
) -> None:
    node = await start(hands, node)
    await hands.lose(node)
    lost = replace(node, process="", launched_revision=0, has_wallet=True)
    for _ in range(2):
        with pytest.raises(CannotStart, match=f"node {node.id}.* wallet") as refused:
            await start(hands, lost)
        assert hands.lost in refused.value.reason
        assert "/" not in refused.value.reason, "its owner is told of no path"
    assert not (await hands.runtime.observe(node)).known, "nothing was made for it"
    # Told that there is none any more, it begins anew.
    assert (await start(hands, replace(lost, has_wallet=False))).process


async def test_a_node_that_is_forgotten_goes_on_and_is_found_again(
    hands: Hands, node: Node
) -> None:
    node = await start(hands, node)
    hands.runtime.unwatch(node.id)
    hands.runtime.unwatch(node.id)
    assert (await hands.runtime.observe(node)).alive
    await hands.crash(node)
    await until(lambda: hands.told[-1:] != [] and not hands.told[-1].alive)


async def test_while_an_lnd_cannot_be_seen_no_second_one_is_started(
    hands: Hands, node: Node
) -> None:
    """As of a pod on a machine that is lost: it may run there still."""
    running = await start(hands, node)
    lost = await hands.cut_off(running)
    hands.told.clear()
    seen = await hands.runtime.observe(lost)
    assert (seen.process, seen.known) == (lost.process, False)
    with pytest.raises(NodeAway):
        await hands.runtime.stop(lost)
    with pytest.raises(NodeAway):
        await start(hands, lost)
    assert hands.told == []
    await hands.reconnect(running)
    assert (await start(hands, running)).process == running.process


@pytest.mark.parametrize(
    "hands",
    ["fake", pytest.param("pods", marks=[pytest.mark.real, pytest.mark.long])],
    indirect=True,
)
async def test_an_lnd_whose_machine_is_back_is_told_of(
    hands: Hands, node: Node
) -> None:
    """Only of machines that something else watches: here nobody hears of it."""
    node = await start(hands, node)
    await until(lambda: hands.told[-1:] != [] and hands.told[-1].state is not None)
    lost = await hands.cut_off(node)
    assert not (await hands.runtime.observe(lost)).known
    hands.told.clear()
    await hands.reconnect(node)
    await until(lambda: bool(hands.told))
    assert {each.process for each in hands.told} == {node.process}
    assert all(each.known and each.alive for each in hands.told)


async def test_a_runtime_that_is_closed_tells_nothing_and_ends_no_node(
    hands: Hands, node: Node
) -> None:
    node = await start(hands, node)
    hands.runtime.close()
    hands.runtime.close()
    hands.told.clear()
    hands.begin_anew()
    assert (await hands.runtime.observe(node)).alive
    hands.runtime.close()
    hands.told.clear()
    await hands.crash(node)
    assert hands.told == []


async def test_what_it_keeps_up_around_nodes_ends_when_it_is_cancelled(
    hands: Hands, node: Node
) -> None:
    node = await start(hands, node)
    running = asyncio.create_task(hands.runtime.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert (await hands.runtime.observe(node)).alive


async def test_a_node_that_was_just_started_is_not_outdated(
    hands: Hands, node: Node
) -> None:
    assert not hands.runtime.is_outdated(await start(hands, node))


async def test_two_starts_at_once_start_one(hands: Hands, node: Node) -> None:
    one, other = await asyncio.gather(start(hands, node), start(hands, node))
    assert one.process == other.process
