"""How many lnds there are, whoever has started them."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.base.database.database import Database
from leyden.channels.books.verify import verify
from leyden.nodes.runtimes.local.census import lnds
from tests.nodes.contracts.runtimes import LocalRuntimeCase, install_stand_in, start
from tests.nodes.rules.nodes import a_node


@pytest.fixture
async def case(tmp_path: Path) -> AsyncIterator[LocalRuntimeCase]:
    local = LocalRuntimeCase(tmp_path / "nodes", install_stand_in(tmp_path))
    yield local
    await local.close()


async def test_a_second_lnd_in_a_folder_is_found_whoever_started_it(
    case: LocalRuntimeCase, sqlite_db: Database
) -> None:
    assert lnds(case.root) == {}
    node = await start(case, a_node())
    assert lnds(case.root) == {node.id: 1}
    assert await verify(sqlite_db, nodes_at=case.root) == []

    folder = case.layout.home(node)
    words = [sys.executable, "-c", "input()", f"--lnddir={folder}"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as second:
        # Its words are in /proc a moment after it was started.
        while lnds(case.root) != {node.id: 2}:
            await asyncio.sleep(0.01)
        (broken,) = await verify(sqlite_db, nodes_at=case.root)
        what = f"node {node.id}: 2 lnd processes run in its folder"
        assert str(broken) == f"I12: {what}"
        second.kill()
    assert lnds(case.root) == {node.id: 1}

    await case.crash(node)
    # Another installation's nodes are not ours.
    assert lnds(case.root / "elsewhere") == {}
