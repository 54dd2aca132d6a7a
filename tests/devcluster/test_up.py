"""`leyden up --runtime kubernetes`: chain, market and cluster, with nodes in pods."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.devcluster import binaries, namespaces, requirements
from leyden.devcluster.places import Places
from leyden.errors import SetupError
from tests.acceptance.town import Town
from tests.cluster import skip_unless_built
from tests.devcluster.clusters import lnds_of
from tests.ports import free_port

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest.fixture(scope="module", autouse=True)
def possible() -> None:
    """Skip where this machine cannot have a cluster; the message says why."""
    skip_unless_built(*binaries.WITH_PODS)
    try:
        requirements.check()
    except SetupError as error:
        pytest.skip(error.message)


@pytest.fixture(scope="module")
async def pod_town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    """A whole installation whose nodes are pods."""
    town = Town(tmp_path_factory.mktemp("pods"), market=True)
    town.environment["LEYDEN_COMPANION_PORT"] = str(free_port())
    try:
        await town.up("--runtime", "kubernetes")
        yield town
    finally:
        await town.down()


async def lnds(town: Town) -> list[int]:
    """Return the lnds in pods of all nodes that there are."""
    nodes = (await town.of(None, "GET", ""))["nodes"]
    return [pid for each in nodes for pid in lnds_of(f"node-{each['node_id'].lower()}")]


async def test_the_stories_of_the_readme_are_played_with_pods(pod_town: Town) -> None:
    """A direct channel to a hosted node, and one of the auction for a node of ours."""
    town = pod_town
    for name in ("direct-channel", "first-channel"):
        await town.opens()
        told = await town.run("dev", "scenario", name, "--hosted", "--json")
        story = json.loads(told[told.index("{") :])
        assert story["capacity"] == 1_000_000
    assert len(await lnds(town)) == 1, "one pod, for both of them"
    assert not list((town.home / "nodes").glob("*/claim")), "and no process of ours"
    assert "the books are right" in await town.run("verify")


async def test_what_runs_goes_on_and_is_found_again(pod_town: Town) -> None:
    town = pod_town
    before = await lnds(town)
    assert before
    said = await town.run("down")
    assert "nodes, their cluster and chain, and the gateway go on" in said
    await town.platform.wait()
    await town.up()  # without being told where nodes run
    assert await lnds(town) == before
    with pytest.raises(AssertionError, match="choose another folder with --home"):
        await town.run("up", "--runtime", "local")


async def test_nothing_runs_once_nodes_are_stopped_too(pod_town: Town) -> None:
    town = pod_town
    before = await lnds(town)
    said = await town.run("down", "--nodes")
    assert "cluster: stopped" in said
    assert namespaces.running(Places.of(town.home).control_plane) is None
    assert before
    assert not any(Path(f"/proc/{pid}").exists() for pid in before)
    found = json.loads(await town.run("status", "--json", code=1))
    assert found["cluster"] == "not running"
    assert "nodes_running" not in found
