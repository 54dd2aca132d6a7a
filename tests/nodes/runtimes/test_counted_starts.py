"""An old copy of a node's folder is not started, and a new one if somebody says so."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.errors import CannotStart
from leyden.nodes.lnd import home
from leyden.nodes.lnd.chains import Chain
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.starts import NEVER, Start
from leyden.nodes.runtimes.local import counter
from leyden.values import replace
from tests.nodes.contracts.runtimes import LocalRuntimeCase, install_stand_in
from tests.nodes.rules.nodes import a_node


class Counted:
    """A node whose starts are counted, as the database does."""

    def __init__(self, case: LocalRuntimeCase, node: Node) -> None:
        self.runtime_case = case
        self.node = node
        self.known = NEVER

    @property
    def folder(self) -> Path:
        return self.runtime_case.layout.folder(self.node)

    async def start(self) -> None:
        spec = replace(self.runtime_case.launch_spec(self.node), last_start=self.known)
        async for step in self.runtime_case.runtime.start(self.node, spec):
            self.known = step.start
            self.node = replace(self.node, process=step.process)

    async def stop(self) -> None:
        await self.runtime_case.runtime.stop(self.node)
        self.node = replace(self.node, process="", has_wallet=True)

    async def run(self) -> None:
        """Run it once, and leave it with a wallet."""
        await self.start()
        await self.stop()
        wallet = home.wallet(self.runtime_case.layout.home(self.node), Chain.SIMNET)
        wallet.parent.mkdir(parents=True, exist_ok=True)
        wallet.touch()


@pytest.fixture
async def counted(tmp_path: Path) -> AsyncIterator[Counted]:
    case = LocalRuntimeCase(tmp_path / "nodes", install_stand_in(tmp_path))
    yield Counted(case, a_node())
    await case.close()


def put_back(folder: Path, copy: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)


async def test_an_old_copy_is_refused_whatever_is_said(
    counted: Counted, tmp_path: Path
) -> None:
    await counted.run()
    shutil.copytree(counted.folder, tmp_path / "copy")
    await counted.run()
    put_back(counted.folder, tmp_path / "copy")
    with pytest.raises(
        CannotStart, match="is from start 1, but the node was started 2"
    ):
        await counted.start()
    counted.known = replace(counted.known, copy="")
    with pytest.raises(CannotStart, match="Bring the newest folder back") as refused:
        await counted.start()
    assert str(tmp_path) not in refused.value.reason


async def test_a_copy_from_the_same_start_needs_the_operators_word(
    counted: Counted, tmp_path: Path
) -> None:
    await counted.run()
    shutil.copytree(counted.folder, tmp_path / "copy")
    put_back(counted.folder, tmp_path / "copy")
    with pytest.raises(CannotStart, match="leyden data-dir accept-copy"):
        await counted.start()
    counted.known = replace(counted.known, copy="")
    await counted.run()
    await counted.run()
    assert counted.known.number == 3


async def test_a_folder_that_was_moved_is_the_same(
    counted: Counted, tmp_path: Path
) -> None:
    await counted.run()
    counted.folder.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").rename(counted.folder)
    await counted.run()
    assert counted.known.number == 2


async def test_a_folder_without_a_counter_is_old_where_starts_were_counted(
    counted: Counted,
) -> None:
    await counted.run()
    (counted.folder / "starts").unlink()
    with pytest.raises(CannotStart, match="is from start 0"):
        await counted.start()
    counted.known = NEVER  # of a node from before starts were counted
    await counted.run()
    assert counted.known.number == 1


async def test_a_folder_that_is_ahead_of_the_database_is_the_newest(
    counted: Counted,
) -> None:
    await counted.run()
    first = counted.known
    await counted.run()
    counted.known = first  # as of a database that was restored, or a kill at a start
    await counted.run()
    assert counted.known.number == 3


async def test_an_empty_folder_starts_and_counts_on(counted: Counted) -> None:
    await counted.run()
    shutil.rmtree(counted.folder)
    counted.node = replace(counted.node, has_wallet=False)
    await counted.start()
    assert counted.known.number == 2
    await counted.stop()


def test_what_is_counted_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "starts"
    assert counter.read(path) == NEVER
    counter.count(path, Start(number=6, copy="1"))
    assert counter.read(path) == Start(number=7, copy=str(path.stat().st_ino))
