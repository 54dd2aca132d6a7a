"""`leyden up --runtime kubernetes`: chain, market and cluster, with nodes in pods."""

import json
from pathlib import Path

import pytest

from leyden.errors import SetupError
from leyden_workshop.devcluster import binaries, namespaces, requirements
from leyden_workshop.devcluster.layout import ClusterLayout
from tests.ports import free_port
from tests.programs import built
from tests.stories.platform import RunningPlatform
from tests.workshop.devcluster.clusters import lnds_of

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture
def platform(tmp_path: Path) -> RunningPlatform:
    """A place for an installation, on a machine that can have a cluster."""
    built("lnd", "btcd", "poold", "auctioneer", *binaries.WITH_PODS)
    try:
        requirements.check()
    except SetupError as error:
        pytest.skip(error.message)
    platform = RunningPlatform(tmp_path, market=True)
    platform.environment["LEYDEN_COMPANION_PORT"] = str(free_port())
    return platform


async def lnds(platform: RunningPlatform) -> list[int]:
    """Return the lnds in the pods of all nodes."""
    nodes = (await platform.of(None, "GET", ""))["nodes"]
    pods = [f"node-{each['node_id'].lower()}" for each in nodes]
    return [pid for pod in pods for pid in lnds_of(pod)]


async def test_one_command_plays_the_whole_story_with_nodes_in_pods(
    platform: RunningPlatform,
) -> None:
    try:
        await platform.up("--runtime", "kubernetes")
        await platform.opens()
        await gets_channels(platform)
        await goes_on_and_is_found_again(platform)
    finally:
        await platform.down()
    assert namespaces.running(ClusterLayout.of(platform.home).control_plane) is None
    found = json.loads(await platform.run("status", "--json", code=1))
    assert found["cluster"] == "not running"
    assert "nodes_running" not in found


async def gets_channels(platform: RunningPlatform) -> None:
    """One of the auction, for a node that the platform hosts."""
    printed = await platform.run(
        "dev", "scenario", "first-channel", "--hosted", "--json"
    )
    story = json.loads(printed[printed.index("{") :])
    assert story["capacity"] == 1_000_000
    assert len(await lnds(platform)) == 1
    assert not list((platform.home / "nodes").glob("*/claim")), "and no process of ours"
    assert "the books are right" in await platform.run("verify")


async def goes_on_and_is_found_again(platform: RunningPlatform) -> None:
    """The platform ends, its nodes do not; it knows where they are by itself."""
    before = await lnds(platform)
    said = await platform.run("down")
    assert "nodes, their cluster and chain, and the gateway go on" in said
    await platform.platform.wait()
    said = await platform.run("up", "--runtime", "local", code=1)
    assert "choose another folder with --home" in said
    await platform.up()
    assert await lnds(platform) == before
