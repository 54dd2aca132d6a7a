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
from tests.nodes.contracts.runtimes import LocalHands, install_stand_in, start
from tests.nodes.rules.nodes import a_node


@pytest.fixture
async def hands(tmp_path: Path) -> AsyncIterator[LocalHands]:
    local = LocalHands(tmp_path / "nodes", install_stand_in(tmp_path))
    yield local
    await local.close()


async def test_a_second_lnd_in_a_folder_is_found_whoever_started_it(
    hands: LocalHands, sqlite_db: Database
) -> None:
    assert lnds(hands.root) == {}
    node = await start(hands, a_node())
    assert lnds(hands.root) == {node.id: 1}
    assert await verify(sqlite_db, nodes_at=hands.root) == []

    folder = hands.layout.home(node)
    words = [sys.executable, "-c", "input()", f"--lnddir={folder}"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as second:
        # Its words are in /proc a moment after it was started.
        while lnds(hands.root) != {node.id: 2}:
            await asyncio.sleep(0.01)
        (broken,) = await verify(sqlite_db, nodes_at=hands.root)
        what = f"node {node.id}: 2 lnd processes run in its folder"
        assert str(broken) == f"I12: {what}"
        second.kill()
    assert lnds(hands.root) == {node.id: 1}

    await hands.crash(node)
    # Another installation's nodes are not ours.
    assert lnds(hands.root / "elsewhere") == {}
