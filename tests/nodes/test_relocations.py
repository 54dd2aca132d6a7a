"""Nodes between two runtimes: whatever happens, one of them has a node."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from leyden.errors import ClusterAway, NotAllowed, NotFound, SetupError, Stale
from leyden.nodes import relocations
from leyden.nodes.relocations import MAX_FAILURES
from leyden.nodes.rules.nodes import Action, DesiredState, Node, NodeStatus, RuntimeName
from leyden.nodes.rules.observations import LndState
from leyden.nodes.rules.relocations import Relocation, RelocationStep
from leyden.nodes.rules.starts import Start
from leyden.nodes.runtimes.base import Checkpoint, LaunchSpec
from leyden.nodes.runtimes.composite import SeveralRuntimes
from leyden.values import replace
from tests.fakes.move_endpoint import FakeMoveEndpoint
from tests.fakes.runtime import FakeRuntime
from tests.nodes.fleet_harness import FleetHarness

LOCAL, KUBERNETES = RuntimeName.LOCAL, RuntimeName.KUBERNETES
_CALLS = ("seal", "content", "write", "settle", "unseal", "delete")


class Shores:
    """A fleet with two runtimes, and a program that may die between their calls."""

    def __init__(self, fleet_harness: FleetHarness) -> None:
        self.fleet_harness = fleet_harness
        self.runtimes = {
            LOCAL: fleet_harness.runtime,
            KUBERNETES: FakeRuntime(says=_EMPTY),
        }
        self.sides = {
            name: FakeMoveEndpoint(each) for name, each in self.runtimes.items()
        }
        self.calls = 0
        self.dies_at = 0
        self.serve({name: Mortal(self, each) for name, each in self.sides.items()})

    def serve(self, sides: Any) -> None:
        self.fleet_harness.fleet = replace(
            self.fleet_harness.fleet,
            runtime=SeveralRuntimes(self.runtimes),
            sides=sides,
        )
        self.fleet_harness.begin_anew()

    async def move(self, node: Node, to: RuntimeName = KUBERNETES) -> None:
        fleet = self.fleet_harness.fleet
        await relocations.request(
            fleet.database, fleet.clock, node.id, to, actor="operator"
        )

    async def found(self, node: Node) -> Relocation:
        found = await self.fleet_harness.fleet.database.reader.relocations.find(node.id)
        assert found is not None
        return found

    async def check(self, node: Node) -> None:
        """Hold that one side at most can start the node, and which one."""
        now = await self.fleet_harness.node(node.id)
        running = [n for n, each in self.runtimes.items() if node.id in each.running]
        startable = [n for n, each in self.runtimes.items() if node.id in each.homes]
        assert len(running) <= 1
        if running:
            assert startable == running == [now.runtime]
        if now.moves_to is None:
            assert startable == [now.runtime]
        else:
            assert running in ([], [now.runtime])

    async def end(self, node: Node) -> Node:
        """Do what is due until the move is done."""
        for _ in range(40):
            await self.fleet_harness.later(seconds=20)
            if (await self.found(node)).step is RelocationStep.DONE:
                await self.fleet_harness.work()
                return await self.fleet_harness.node(node.id)
        raise AssertionError(await self.found(node))


class Mortal:
    """A side whose caller may die before and after each call."""

    def __init__(self, shores: Shores, side: FakeMoveEndpoint) -> None:
        self._shores = shores
        self._side = side

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call: Callable[..., Any] = getattr(self._side, name)
        if name not in _CALLS:
            return call

        async def mortal(*words: object) -> object:
            self._burn()
            answer = await call(*words)
            self._burn()
            return answer

        return mortal

    def _burn(self) -> None:
        self._shores.calls += 1
        if self._shores.calls == self._shores.dies_at:
            raise asyncio.CancelledError


_EMPTY = LndState.NON_EXISTING


@pytest.fixture
async def shores(fleet_harness: FleetHarness) -> Shores:
    return Shores(fleet_harness)


async def running(shores: Shores, name: str = "harbour light") -> Node:
    node = await shores.fleet_harness.running(name=name)
    shores.runtimes[LOCAL].say(node.id, LndState.LOCKED)
    await shores.fleet_harness.settled()
    return await shores.fleet_harness.node(node.id)


async def test_a_node_is_moved_and_started_there_and_back_again(
    shores: Shores,
) -> None:
    node = await running(shores)
    await shores.move(node)
    assert (await shores.fleet_harness.node(node.id)).status is NodeStatus.RESTARTING
    after = await shores.end(node)
    assert (after.runtime, after.moves_to) == (KUBERNETES, None)
    assert node.id in shores.runtimes[KUBERNETES].running
    assert shores.sides[LOCAL].sealed == {}
    assert (after.api_endpoint, after.slot, after.has_wallet) == (
        node.api_endpoint,
        node.slot,
        True,
    )
    assert after.crashes == 0, "to end for a move is no crash"
    found = await shores.found(node)
    assert (found.failed, found.size) == (False, len(node.id))
    await shores.check(node)

    await shores.move(node, LOCAL)
    assert (await shores.end(node)).runtime is LOCAL
    assert node.id in shores.runtimes[LOCAL].running
    await shores.check(node)
    reader = shores.fleet_harness.fleet.database.reader
    assert await reader.node_starts.get(node.id) == Start(number=2, copy="")


async def test_a_move_from_a_machine_that_is_lost_waits_for_its_return(
    shores: Shores,
) -> None:
    node, fleet_harness = await running(shores), shores.fleet_harness
    shores.runtimes[LOCAL].cut_off(node.id)
    await shores.move(node)
    await fleet_harness.refused()
    for _ in range(9):
        await fleet_harness.later(
            seconds=1
        )  # nobody asks for its end, which is refused
    assert (await shores.found(node)).step is RelocationStep.STOPPING
    shores.runtimes[LOCAL].reconnect(node.id)
    await fleet_harness.settled()
    assert (await shores.end(node)).runtime is KUBERNETES
    await shores.check(node)


class Wrapped:
    """A side that does what another one does, where nothing else is said."""

    def __init__(self, side: FakeMoveEndpoint) -> None:
        self._side = side

    def __getattr__(self, name: str) -> Any:
        return getattr(self._side, name)


class SleepsBeforeDelete(Wrapped):
    """A side whose caller falls asleep before it deletes what it has found."""

    def __init__(self, side: FakeMoveEndpoint) -> None:
        super().__init__(side)
        self.asleep, self.awake = asyncio.Event(), asyncio.Event()

    async def delete(self, node: Node, found: Sequence[str]) -> None:
        self.asleep.set()
        await self.awake.wait()
        await self._side.delete(node, found)


async def test_a_worker_that_slept_through_later_moves_deletes_nothing_of_them(
    shores: Shores,
) -> None:
    node, here, target = await running(shores), *shores.sides.values()
    sleeper = SleepsBeforeDelete(here)
    shores.serve({LOCAL: sleeper, KUBERNETES: target})
    await shores.move(node)
    late = asyncio.create_task(shores.fleet_harness.later(seconds=1))
    await sleeper.asleep.wait()
    shores.serve(shores.sides)  # another worker, once the claim has run out
    await shores.end(node)
    await shores.move(node, LOCAL)
    await shores.end(node)
    target.fails = "no machine has room"
    await shores.move(node)
    await shores.fleet_harness.later(seconds=1)
    assert (await shores.found(node)).step is RelocationStep.COPYING
    sleeper.awake.set()
    with pytest.raises(Stale):
        await late
    assert here.sealed, "it is all there is of the node"
    target.fails = ""
    assert (await shores.end(node)).runtime is KUBERNETES
    await shores.check(node)


class SleepsBeforeSeal(Wrapped):
    """A side whose caller falls asleep before it seals a node."""

    def __init__(self, side: FakeMoveEndpoint) -> None:
        super().__init__(side)
        self.asleep, self.awake = asyncio.Event(), asyncio.Event()

    async def seal(self, node: Node, launch_spec: LaunchSpec) -> None:
        self.asleep.set()
        await self.awake.wait()
        await self._side.seal(node, launch_spec)


async def test_a_node_that_was_sealed_by_who_slept_is_kept_and_can_be_moved(
    shores: Shores,
) -> None:
    """It was returned meanwhile, and does not start until an operator helps."""
    node, here, target = await running(shores), *shores.sides.values()
    slow = SleepsBeforeSeal(here)
    shores.serve({LOCAL: slow, KUBERNETES: target})
    await shores.move(node)
    late = asyncio.create_task(shores.fleet_harness.later(seconds=1))
    await slow.asleep.wait()
    target.fails = "no machine has room"
    shores.serve(shores.sides)
    assert (await shores.end(node)).runtime is LOCAL
    target.fails = ""
    slow.awake.set()
    with pytest.raises(Stale):
        await late
    await shores.fleet_harness.later(minutes=1)
    assert [each.running for each in shores.runtimes.values()] == [{}, {}]
    await shores.move(node)
    assert (await shores.end(node)).runtime is KUBERNETES
    assert node.id in shores.runtimes[KUBERNETES].running


class Slow(FakeRuntime):
    """A runtime whose starts may take a while: a program is being built, say."""

    def __init__(self) -> None:
        super().__init__(says=_EMPTY)
        self.begun, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.may_go_on.set()

    async def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Wait before there is a process."""
        async for each in super().start(node, launch_spec):
            yield each
            self.begun.set()
            await self.may_go_on.wait()


async def test_a_move_waits_for_a_start_that_began_before_it(
    fleet_harness: FleetHarness,
) -> None:
    """It knows nothing of the move, and would make an lnd where the node was."""
    slow = fleet_harness.runtime = Slow()
    shores = Shores(fleet_harness)
    node = await running(shores)
    slow.end(node.id)
    await fleet_harness.settled()
    slow.begun.clear()
    slow.may_go_on.clear()
    starting = asyncio.create_task(fleet_harness.later(seconds=5))
    await slow.begun.wait()
    await shores.move(node)
    await fleet_harness.work()
    assert (await shores.found(node)).step is RelocationStep.STOPPING
    slow.may_go_on.set()
    await starting
    await shores.check(node)
    assert (await shores.end(node)).runtime is KUBERNETES
    assert node.id in shores.runtimes[KUBERNETES].running
    await shores.check(node)


class Frozen(FakeRuntime):
    """A runtime that freezes before its first start, and tells of no half of one."""

    def __init__(self) -> None:
        super().__init__(says=_EMPTY)
        self.frozen, self.thawed = asyncio.Event(), asyncio.Event()

    async def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Start the node, or freeze before."""
        if not self.frozen.is_set():
            self.frozen.set()
            await self.thawed.wait()
        *_, last = [each async for each in super().start(node, launch_spec)]
        yield last


@pytest.mark.parametrize("moves", [True, False])
async def test_what_is_started_by_who_slept_is_ended(
    fleet_harness: FleetHarness, *, moves: bool
) -> None:
    """It has no wallet, and so nothing tells an old folder of it from a new one."""
    frozen = fleet_harness.runtime = Frozen()
    shores = Shores(fleet_harness)
    node = await fleet_harness.create()
    late = asyncio.create_task(fleet_harness.work())
    await frozen.frozen.wait()
    shores.serve(shores.sides)  # another worker, once the claim has run out
    await fleet_harness.later(minutes=2)
    assert node.id in frozen.running
    if moves:
        await shores.move(node)
        assert (await shores.end(node)).runtime is KUBERNETES
    else:
        await fleet_harness.ask(node, Action.STOP)
        await fleet_harness.work()
    assert frozen.running == {}

    frozen.thawed.set()
    with pytest.raises(Stale):
        await late
    await fleet_harness.work()
    assert frozen.running == {}


async def test_killed_at_any_call_a_node_is_on_one_side_and_goes_on(
    shores: Shores,
) -> None:
    for dies_at in range(1, 2 * len(("seal", "content", "write", "settle", "delete"))):
        node = await running(shores, f"light {dies_at}")
        await shores.move(node)
        shores.calls, shores.dies_at = 0, dies_at
        with pytest.raises(asyncio.CancelledError):
            await shores.fleet_harness.later(seconds=1)
        await shores.check(node)
        await shores.fleet_harness.restart()
        await shores.check(node)
        after = await shores.end(node)
        assert after.runtime is KUBERNETES
        assert node.id in shores.runtimes[KUBERNETES].running
        assert node.id not in shores.runtimes[LOCAL].homes
        await shores.check(node)


@pytest.mark.parametrize("damaged", [True, False])
async def test_a_copy_that_fails_five_times_leaves_the_node_where_it_was(
    shores: Shores, *, damaged: bool
) -> None:
    node = await running(shores)
    side = shores.sides[KUBERNETES]
    side.damages, side.fails = damaged, "" if damaged else "no machine has room"
    await shores.move(node)
    after = await shores.end(node)
    assert (after.runtime, after.moves_to) == (LOCAL, None)
    assert node.id in shores.runtimes[LOCAL].running
    assert side.copies == {}
    found = await shores.found(node)
    assert found.failed
    assert ("differs from the original" if damaged else "no room") in found.why or (
        "room" in found.why
    )
    await shores.check(node)
    side.damages, side.fails = False, ""
    await shores.move(node)
    assert (await shores.end(node)).runtime is KUBERNETES
    assert MAX_FAILURES == 5, "as the help says"


class Occupied(Wrapped):
    """A side where something is in the way of what arrived."""

    async def settle(self, node: Node, copy: str, last_start: Start) -> Start:
        del copy, last_start
        raise SetupError(f"node {node.id}: another folder is there")


async def test_the_operator_is_told_of_a_move_that_does_not_come_to_its_end(
    shores: Shores,
) -> None:
    node = await running(shores)
    reader = shores.fleet_harness.fleet.database.reader
    shores.serve({**shores.sides, KUBERNETES: Occupied(shores.sides[KUBERNETES])})
    await shores.move(node)
    while (await shores.found(node)).failures < MAX_FAILURES:
        assert await relocations.alarms(reader) == {}
        await shores.fleet_harness.later(seconds=20)
    (what,) = (await relocations.alarms(reader)).values()
    assert what.startswith(f"the move of node {node.id} to kubernetes has failed 5 ")
    assert what.endswith("another folder is there")
    shores.serve(shores.sides)
    assert (await shores.end(node)).runtime is KUBERNETES
    assert await relocations.alarms(reader) == {}


async def test_what_an_owner_asks_meanwhile_is_done_once_it_has_arrived(
    shores: Shores,
) -> None:
    node = await running(shores)
    shores.serve({})  # nobody goes on with it
    await shores.move(node)
    await shores.fleet_harness.work()
    assert await shores.fleet_harness.work() == 0, "nobody starts what is being moved"
    assert shores.runtimes[LOCAL].running == {}
    await shores.fleet_harness.ask(node, Action.STOP)
    shores.serve(shores.sides)
    after = await shores.end(node)
    assert (after.runtime, after.status) == (KUBERNETES, NodeStatus.STOPPED)
    assert [each.running for each in shores.runtimes.values()] == [{}, {}]
    await shores.fleet_harness.ask(node, Action.START)
    await shores.fleet_harness.work()
    assert node.id in shores.runtimes[KUBERNETES].running


async def test_a_node_that_is_deleted_meanwhile_is_deleted_where_it_arrives(
    shores: Shores,
) -> None:
    node = await running(shores)
    await shores.move(node)
    await shores.fleet_harness.ask(node, Action.DELETE)
    await shores.end(node)
    assert node.id in shores.runtimes[KUBERNETES].homes
    await shores.fleet_harness.later(days=8)
    assert [each.homes for each in shores.runtimes.values()] == [{}, {}]
    assert (
        await shores.fleet_harness.fleet.database.reader.relocations.find(node.id)
        is None
    )


class Uncleaned(Wrapped):
    """A side that does not respond when its leftovers are to be deleted."""

    async def delete(self, node: Node, found: Sequence[str]) -> None:
        raise ClusterAway(f"node {node.id}: no response to {found}")


async def test_what_a_move_left_behind_is_deleted_even_after_its_node(
    shores: Shores,
) -> None:
    node = await running(shores)
    reader = shores.fleet_harness.fleet.database.reader
    shores.serve({**shores.sides, LOCAL: Uncleaned(shores.sides[LOCAL])})
    await shores.move(node)
    while (await shores.found(node)).step is not RelocationStep.CLEANING:
        await shores.fleet_harness.later(seconds=20)
    await shores.fleet_harness.ask(node, Action.DELETE)
    await shores.fleet_harness.later(days=8)
    await shores.fleet_harness.later(minutes=10)
    assert [each.homes for each in shores.runtimes.values()] == [{}, {}]
    assert shores.sides[LOCAL].sealed
    for _ in range(MAX_FAILURES):
        await shores.fleet_harness.later(minutes=10)
    assert len(await relocations.alarms(reader)) == 1
    shores.serve(shores.sides)
    await shores.fleet_harness.later(minutes=10)
    assert shores.sides[LOCAL].sealed == {}
    assert await relocations.alarms(reader) == {}


async def test_a_stopped_node_is_moved_and_stays_stopped(shores: Shores) -> None:
    node = await running(shores)
    await shores.fleet_harness.ask(node, Action.STOP)
    await shores.fleet_harness.work()
    await shores.move(node)
    after = await shores.end(node)
    assert (after.runtime, after.wanted) == (KUBERNETES, DesiredState.STOPPED)
    assert shores.runtimes[KUBERNETES].running == {}
    assert node.id in shores.runtimes[KUBERNETES].homes


async def test_a_start_that_nobody_saved_is_ended_before_it_is_copied(
    shores: Shores,
) -> None:
    node = await running(shores)
    await shores.fleet_harness.ask(node, Action.STOP)
    await shores.fleet_harness.work()
    runtime = shores.runtimes[LOCAL]
    spec = runtime.homes[node.id]
    [_, *_] = [each async for each in runtime.start(node, spec)]  # and died
    await shores.move(node)
    await shores.end(node)
    assert runtime.running == {}


async def test_what_cannot_be_moved_is_refused_with_the_reason(shores: Shores) -> None:
    node = await running(shores)

    async def refused(call: Awaitable[None]) -> str:
        with pytest.raises((NotAllowed, NotFound)) as why:
            await call
        return str(why.value)

    assert await refused(shores.move(node, LOCAL)) == (
        f"node {node.id} is already in local"
    )
    nobody = replace(node, id="nobody")
    assert await refused(shores.move(nobody)) == "no node nobody"
    await shores.move(node)
    assert "is already being moved" in await refused(shores.move(node))
    await shores.end(node)
    # What a deleted node has left may be moved, as long as there is something.
    await shores.fleet_harness.ask(node, Action.DELETE)
    await shores.move(node, LOCAL)
    assert (await shores.end(node)).runtime is LOCAL
    await shores.fleet_harness.later(days=8)
    assert "is deleted" in await refused(shores.move(node))
