"""What every reader of what lnd leaves promises, asked of those with a real lnd."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.nodes.rules.log_positions import BEGINNING
from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.base import NO_CHANGES, STOPPED, NodeFiles, Usage
from leyden.nodes.runtimes.kubernetes.node_files import KubernetesNodeFiles
from leyden.nodes.runtimes.local.local_node_files import LocalNodeFiles
from leyden.values import Struct, replace
from tests.nodes.contracts.pods import pods_of
from tests.nodes.contracts.runtimes import RealRuntimeCase, RuntimeCase, start
from tests.nodes.rules.nodes import a_node
from tests.nodes.runtimes.test_kubernetes import TerminationMessage

WORDS = "Waiting for wallet encryption password"

pytestmark = pytest.mark.real


class Case(Struct, frozen=True):
    """A reader, and hands on the lnds that it reads of."""

    homes: NodeFiles
    runtime_case: RuntimeCase

    async def has_said(self, node: Node, words: str) -> list[str]:
        async with asyncio.timeout(30):
            while not any(words in line for line in await self.homes.log(node, 100)):
                await asyncio.sleep(0.05)
        return await self.homes.log(node, 100)


@pytest.fixture(params=["local", pytest.param("pods", marks=pytest.mark.long)])
async def case(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Case]:
    if request.param == "pods":
        async with pods_of(request.getfixturevalue("up")) as pods:
            yield Case(KubernetesNodeFiles(pods.api, TerminationMessage()), pods)
        return
    local = RealRuntimeCase(tmp_path / "nodes", request.getfixturevalue("real_lnd"))
    yield Case(LocalNodeFiles(local.layout), local)
    await local.close()


async def test_the_last_lines_are_told_and_no_more(case: Case) -> None:
    node = await start(case.runtime_case, a_node())
    lines = await case.has_said(node, WORDS)
    assert (await case.homes.log(node, 1)) == lines[-1:]


async def test_what_was_said_is_there_after_a_crash(case: Case) -> None:
    node = await start(case.runtime_case, a_node())
    await case.has_said(node, WORDS)
    await case.runtime_case.crash(node)
    assert await case.has_said(node, WORDS)


async def test_of_a_node_that_is_not_here_there_is_nothing(case: Case) -> None:
    node = a_node()
    assert await case.homes.log(node, 10) == []
    assert await case.homes.channel_backup(node) is None
    assert case.homes.read_changes(node, BEGINNING) == NO_CHANGES
    assert (await case.homes.catch_up(node, BEGINNING)).complaints == ()
    assert await case.homes.sweep(node) == ()
    usage = await case.homes.usage(node)
    assert usage.disk in {0, None}
    assert replace(usage, disk=None) == STOPPED
    assert await case.homes.usages([node]) == {node.id: STOPPED}


async def test_usage_of_a_node_that_runs_is_known_or_said_not_to_be(case: Case) -> None:
    """The cluster of these tests has no metrics-server."""
    node = await start(case.runtime_case, a_node())
    usage = (await case.homes.usages([node]))[node.id]
    if isinstance(case.homes, KubernetesNodeFiles):
        assert usage == Usage()
    else:
        assert usage.memory is not None
        assert usage.memory > 0
        assert usage.cpu_s is not None
        assert usage.cpu_s >= 0
    assert usage.disk is None, "it is asked for alone"
