"""Why a node could not be started: told to its owner, and in full to the operator."""

from leyden.domain.nodes import Node, Status
from leyden.domain.observations import State
from leyden.services.nodes import failures, views
from leyden.services.nodes.failures import Failure
from tests.services.yard import HARBOUR, Yard

FULL = "The disk of the node's machine is full. The operator must make room."
GONE = "The node's folder is not on its machine."


async def told(yard: Yard, node: Node) -> str:
    return (await views.view(yard.fleet, HARBOUR, node.id)).failure


async def kept(yard: Yard) -> list[str]:
    lines = await yard.fleet.database.reader.audit.latest(most=100)
    return [
        str(each.detail["reason"]) for each in lines if each.action == "node failed"
    ]


async def test_a_full_disk_is_told_until_the_node_starts(yard: Yard) -> None:
    yard.runtime.fails_after = "nothing"
    node = await yard.running()
    assert (node.status, await told(yard, node)) == (Status.FAILED, FULL)
    reader = yard.fleet.database.reader
    found = await failures.find(reader, HARBOUR, node.id)
    assert found == Failure(reason=FULL, why="[Errno 28] no space left on device")
    assert await failures.find(reader, "pier", node.id) is None
    yard.runtime.fails_after = ""
    await yard.later(seconds=1)
    assert await told(yard, node) == ""


async def test_it_is_kept_once_however_often_a_start_is_tried(yard: Yard) -> None:
    yard.runtime.fails_after = "nothing"
    await yard.running()
    for _ in range(9):
        await yard.later(minutes=5)
    assert await kept(yard) == [FULL]


async def test_another_reason_takes_its_place(yard: Yard) -> None:
    node = await yard.running()
    yard.runtime.say(node.id, State.LOCKED)
    await yard.settled()
    yard.runtime.end(node.id)
    yard.runtime.lose(node.id)
    await yard.settled()
    await yard.later(seconds=5)
    assert (await yard.node(node.id)).status is Status.FAILED
    assert await told(yard, node) == GONE
    yard.runtime.fails_after = "nothing"
    await yard.later(minutes=5)
    assert await told(yard, node) == FULL
    assert await kept(yard) == [FULL, GONE]


async def test_what_is_no_ones_to_know_is_not_told(yard: Yard) -> None:
    node = await yard.create()
    async with yard.fleet.database.transaction() as tx:
        error = PermissionError(13, "Permission denied", "/srv/leyden/nodes/7")
        await failures.note(tx, node, error, now=yard.now)
    reader = yard.fleet.database.reader
    found = await failures.find(reader, HARBOUR, node.id)
    assert found is not None
    assert found.reason == "lnd could not be started. The operator can see why."
    assert "/srv/leyden/nodes/7" in found.why
