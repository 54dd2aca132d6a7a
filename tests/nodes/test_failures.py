"""Why a node could not be started: told to its owner, and in full to the operator."""

from leyden.nodes import failures, views
from leyden.nodes.rules.nodes import Cause, Node, NodeStatus, Trouble
from tests.nodes.fleet_harness import HARBOUR, FleetHarness

FULL = "The disk of the node's machine is full. The operator must free space."
GONE = "The node's folder is not on its machine."


async def shown_trouble(fleet_harness: FleetHarness, node: Node) -> str:
    shown = await views.show(fleet_harness.fleet, HARBOUR, node.id)
    return shown.listed.reason


async def logged_troubles(fleet_harness: FleetHarness) -> list[str]:
    lines = await fleet_harness.fleet.database.reader.audit.latest(limit=100)
    return [
        str(each.detail["reason"]) for each in lines if each.action == "node failed"
    ]


async def test_a_full_disk_is_told_until_the_node_starts(
    fleet_harness: FleetHarness,
) -> None:
    fleet_harness.runtime.fails_after = "nothing"
    node = await fleet_harness.running()
    assert (node.status, await shown_trouble(fleet_harness, node)) == (
        NodeStatus.FAILED,
        FULL,
    )
    assert node.trouble == Trouble(
        cause=Cause.NOT_STARTED, reason=FULL, why="[Errno 28] no space left on device"
    )
    fleet_harness.runtime.fails_after = ""
    await fleet_harness.later(seconds=1)
    assert await shown_trouble(fleet_harness, node) == ""


async def test_it_is_kept_once_however_often_a_start_is_tried(
    fleet_harness: FleetHarness,
) -> None:
    fleet_harness.runtime.fails_after = "nothing"
    await fleet_harness.running()
    for _ in range(9):
        await fleet_harness.later(minutes=5)
    assert await logged_troubles(fleet_harness) == [FULL]


async def test_another_reason_takes_its_place(fleet_harness: FleetHarness) -> None:
    node = await fleet_harness.running()
    await fleet_harness.lose_wallet(node)
    assert (await fleet_harness.node(node.id)).status is NodeStatus.FAILED
    assert await shown_trouble(fleet_harness, node) == GONE
    fleet_harness.runtime.fails_after = "nothing"
    await fleet_harness.later(minutes=5)
    assert await shown_trouble(fleet_harness, node) == FULL
    assert await logged_troubles(fleet_harness) == [FULL, GONE]


def test_what_is_no_ones_to_know_is_not_told() -> None:
    error = PermissionError(13, "Permission denied", "/srv/leyden/nodes/7")
    reason = failures.reason_of(error)
    assert reason == "lnd could not start. Ask the operator: the log says why."
