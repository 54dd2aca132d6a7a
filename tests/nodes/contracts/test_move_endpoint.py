"""What each side of a move guarantees: the node's data is startable in one place."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from leyden.errors import CannotStart, SetupError
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.starts import NEVER, Start
from leyden.nodes.runtimes.local.local_move_endpoint import LocalMoveEndpoint
from leyden.nodes.runtimes.move_endpoints import MoveEndpoint
from leyden.values import replace
from tests.fakes.move_endpoint import FakeMoveEndpoint
from tests.fakes.runtime import FakeRuntime
from tests.nodes.contracts.runtimes import (
    FakeRuntimeCase,
    LocalRuntimeCase,
    RuntimeCase,
    install_stand_in,
    start,
)
from tests.nodes.contracts.sides import clean, start_again, start_with_wallet
from tests.nodes.rules.nodes import a_node
from tests.waiting import until

_KNOWN = Start(number=1, copy="")


@dataclass
class Shore:
    """A side, and the runtime that starts the nodes there."""

    runtime_case: RuntimeCase
    side: MoveEndpoint

    async def started(self, node: Node, last: Start) -> Node:
        """Start the node where it was started `last`."""
        return await start_again(self.runtime_case, node, last)

    async def seal(self, node: Node) -> None:
        await self.side.seal(node, self.runtime_case.launch_spec(node))

    async def receive(self, node: Node, origin: "Shore") -> str:
        """Store a copy, and return its name."""
        archive, sealed = origin.side.read(node), await origin.side.content(node)
        spec = self.runtime_case.launch_spec(node)
        return await self.side.write(node, spec, archive, sealed)

    async def clean(self, node: Node) -> None:
        await clean(self.side, node)


def _fake() -> Shore:
    case = FakeRuntimeCase()
    assert isinstance(case.runtime, FakeRuntime)
    return Shore(case, FakeMoveEndpoint(case.runtime))


def _local(root: Path, lnd: Path) -> Shore:
    root.mkdir()
    case = LocalRuntimeCase(root, lnd)
    return Shore(case, LocalMoveEndpoint(case.layout, grace_s=10))


@pytest.fixture(params=["fake", "stand-in"])
async def shores(
    request: pytest.FixtureRequest, memory_path: Path
) -> AsyncIterator[tuple[Shore, Shore]]:
    if request.param == "fake":
        yield _fake(), _fake()
        return
    lnd = install_stand_in(memory_path)
    both = _local(memory_path / "here", lnd), _local(memory_path / "there", lnd)
    yield both
    for each in both:
        assert isinstance(each.runtime_case, LocalRuntimeCase)
        await each.runtime_case.close()


@pytest.fixture
async def node(shores: tuple[Shore, Shore]) -> Node:
    """Return a node that runs here, with a wallet."""
    return await start_with_wallet(shores[0].runtime_case, a_node())


def never_started(node: Node) -> Node:
    return replace(node, process="", launched_revision=0, has_wallet=False)


async def test_sealed_data_has_no_lnd_and_cannot_be_started(
    shores: tuple[Shore, Shore], node: Node
) -> None:
    here, _ = shores
    for _ in range(2):
        await here.seal(node)
    await until(
        lambda: [each.alive for each in here.runtime_case.observations][-1:] == [False]
    )
    with pytest.raises(CannotStart):
        await here.started(node, _KNOWN)
    for _ in range(2):
        await here.side.unseal(node)
    assert (await here.started(node, _KNOWN)).process


async def test_a_copy_is_equal_and_is_started_once_it_is_settled(
    shores: tuple[Shore, Shore], node: Node
) -> None:
    here, target = shores
    await here.seal(node)
    await target.receive(node, here)
    copy = await target.receive(node, here)
    with pytest.raises(CannotStart):
        await target.started(node, _KNOWN)
    for _ in range(2):
        settled = await target.side.settle(node, copy, _KNOWN)
        assert settled.number > _KNOWN.number
    assert await target.side.leftovers(node) == []
    assert (await target.started(node, settled)).process
    await here.clean(node)
    await here.side.unseal(node)
    with pytest.raises(CannotStart):
        await here.started(node, _KNOWN)


async def test_a_late_copy_replaces_nothing_that_was_settled(
    shores: tuple[Shore, Shore], node: Node
) -> None:
    here, target = shores
    await here.seal(node)
    copy = await target.receive(node, here)
    await target.side.settle(node, copy, _KNOWN)
    await target.receive(node, here)  # from a process that was suspended
    settled = await target.side.settle(node, copy, _KNOWN)
    assert (await target.started(node, settled)).process


async def test_a_node_that_is_there_is_not_overwritten(
    shores: tuple[Shore, Shore], node: Node
) -> None:
    here, target = shores
    await target.runtime_case.runtime.stop(
        await start(target.runtime_case, never_started(node))
    )
    await here.seal(node)
    copy = await target.receive(node, here)
    with pytest.raises(SetupError, match="is not the copy that arrived"):
        await target.side.settle(node, copy, NEVER)


async def test_only_leftovers_that_were_found_are_deleted(
    shores: tuple[Shore, Shore], node: Node
) -> None:
    here, target = shores
    await here.seal(node)
    await target.receive(node, here)
    found = await here.side.leftovers(node), await target.side.leftovers(node)
    await here.clean(node)  # another worker, meanwhile
    await target.clean(node)
    await here.seal(await start(here.runtime_case, never_started(node)))
    copy = await target.receive(node, here)
    for side, names in zip((here.side, target.side), found, strict=True):
        await side.delete(node, names)
    assert (await target.side.settle(node, copy, _KNOWN)).number > _KNOWN.number
    await here.side.unseal(node)
    assert (await here.started(never_started(node), _KNOWN)).process


async def test_leftovers_are_not_the_data_that_lnd_is_started_with(
    shores: tuple[Shore, Shore], node: Node
) -> None:
    here, _ = shores
    await here.runtime_case.runtime.stop(node)
    await here.clean(node)
    assert (await here.started(node, _KNOWN)).process
