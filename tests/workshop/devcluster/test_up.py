"""`leyden up --runtime kubernetes`: chain, market and cluster, with nodes in pods."""

import json
from pathlib import Path

import pytest

from leyden.errors import SetupError
from leyden_workshop.devcluster import binaries, namespaces, requirements
from leyden_workshop.devcluster.places import Places
from tests.ports import free_port
from tests.programs import built
from tests.stories.town import Town
from tests.workshop.devcluster.clusters import lnds_of

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture
def town(tmp_path: Path) -> Town:
    """A place for an installation, on a machine that can have a cluster."""
    built("lnd", "btcd", "poold", "auctioneer", *binaries.WITH_PODS)
    try:
        requirements.check()
    except SetupError as error:
        pytest.skip(error.message)
    town = Town(tmp_path, market=True)
    town.environment["LEYDEN_COMPANION_PORT"] = str(free_port())
    return town


async def lnds(town: Town) -> list[int]:
    """Return the lnds in the pods of all nodes."""
    nodes = (await town.of(None, "GET", ""))["nodes"]
    pods = [f"node-{each['node_id'].lower()}" for each in nodes]
    return [pid for pod in pods for pid in lnds_of(pod)]


async def test_one_command_plays_the_whole_story_with_nodes_in_pods(town: Town) -> None:
    try:
        await town.up("--runtime", "kubernetes")
        await town.opens()
        await gets_channels(town)
        await goes_on_and_is_found_again(town)
    finally:
        await town.down()
    assert namespaces.running(Places.of(town.home).control_plane) is None
    found = json.loads(await town.run("status", "--json", code=1))
    assert found["cluster"] == "not running"
    assert "nodes_running" not in found


async def gets_channels(town: Town) -> None:
    """One of the auction, for a node that the platform hosts."""
    told = await town.run("dev", "scenario", "first-channel", "--hosted", "--json")
    story = json.loads(told[told.index("{") :])
    assert story["capacity"] == 1_000_000
    assert len(await lnds(town)) == 1
    assert not list((town.home / "nodes").glob("*/claim")), "and no process of ours"
    assert "the books are right" in await town.run("verify")


async def goes_on_and_is_found_again(town: Town) -> None:
    """The platform ends, its nodes do not; it knows where they are by itself."""
    before = await lnds(town)
    said = await town.run("down")
    assert "nodes, their cluster and chain, and the gateway go on" in said
    await town.platform.wait()
    said = await town.run("up", "--runtime", "local", code=1)
    assert "choose another folder with --home" in said
    await town.up()
    assert await lnds(town) == before
