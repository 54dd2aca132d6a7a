"""What every runtime promises, asked of each of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from leyden.domain.nodes import Node
from leyden.domain.observations import State
from leyden.errors import Conflict, SetupError
from leyden.values import replace
from tests.contracts.runtimes import (
    FakeHands,
    Hands,
    LocalHands,
    RealHands,
    install_stand_in,
    start,
    until,
)
from tests.domain.nodes import a_node


@pytest.fixture(
    params=["fake", "stand-in", pytest.param("real", marks=pytest.mark.real)]
)
async def hands(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Hands]:
    if request.param == "fake":
        yield FakeHands()
        return
    if request.param == "stand-in":
        local = LocalHands(tmp_path / "nodes", install_stand_in(tmp_path))
    else:
        local = RealHands(tmp_path / "nodes", request.getfixturevalue("real_lnd"))
    yield local
    await local.close()


@pytest.fixture
def node() -> Node:
    return a_node()


async def test_a_start_ends_with_an_address_and_a_process(
    hands: Hands, node: Node
) -> None:
    checkpoints = [each async for each in hands.runtime.start(node, hands.outfit(node))]
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
    assert (again.process, again.launched) == (first.process, first.launched)


@pytest.mark.parametrize("step", [1, 2])
async def test_a_start_that_broke_off_is_taken_up(
    hands: Hands, node: Node, step: int
) -> None:
    async with aclosing(hands.runtime.start(node, hands.outfit(node))) as steps:
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


async def test_a_crash_is_told_as_one(hands: Hands, node: Node) -> None:
    node = await start(hands, node)
    await hands.crash(node)
    await until(lambda: hands.told[-1:] != [] and not hands.told[-1].alive)
    assert not hands.told[-1].asked


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
    assert second.launched == 2
    assert not (await hands.runtime.observe(first)).alive
    assert (await hands.runtime.observe(second)).alive


async def test_removing_leaves_nothing_and_may_be_repeated(
    hands: Hands, node: Node, tmp_path: Path
) -> None:
    node = await start(hands, node)
    await hands.runtime.stop(node)
    for _ in range(2):
        await hands.runtime.remove(node)
    assert not [path for path in tmp_path.rglob("*") if node.id in str(path)]


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
    lost = replace(node, process="", launched=0, has_wallet=True)
    for _ in range(2):
        with pytest.raises(SetupError, match=f"node {node.id}.* wallet"):
            await start(hands, lost)
    assert not (await hands.runtime.observe(node)).known, "nothing was made for it"
    # Told that there is none any more, it begins anew.
    assert (await start(hands, replace(lost, has_wallet=False))).process


async def test_a_node_that_is_forgotten_goes_on_and_is_found_again(
    hands: Hands, node: Node
) -> None:
    node = await start(hands, node)
    hands.runtime.forget(node.id)
    hands.runtime.forget(node.id)
    assert (await hands.runtime.observe(node)).alive
    await hands.crash(node)
    await until(lambda: hands.told[-1:] != [] and not hands.told[-1].alive)


async def test_two_starts_at_once_start_one(hands: Hands, node: Node) -> None:
    one, other = await asyncio.gather(start(hands, node), start(hands, node))
    assert one.process == other.process
