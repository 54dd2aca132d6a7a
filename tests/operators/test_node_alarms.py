"""Alarms about nodes, and what their owners are told of the same."""

from prometheus_client import REGISTRY

from leyden.nodes import views
from leyden.nodes.rules.nodes import Cause, Node, NodeStatus
from leyden.nodes.rules.observations import End, LndState
from leyden.operators import node_alarms
from tests.events.stored_events import stored_events
from tests.nodes.fleet_harness import HARBOUR, FleetHarness

SHORT = End(cause=Cause.OUT_OF_MEMORY, why="OOMKilled")
DRAINED = End(cause=Cause.INTERRUPTED, why="EvictionByEvictionAPI")


async def alarms(harness: FleetHarness) -> list[tuple[str, str]]:
    found = await node_alarms.list_(harness.fleet.database.reader, now=harness.now)
    return [(each.kind.value, each.what) for each in found]


async def whys(harness: FleetHarness) -> list[str]:
    counts = harness.fleet.database.reader.counts
    found = await counts.ailing(limit=9, now=harness.now)
    return [node_alarms.why(each) for each in found]


async def end(harness: FleetHarness, node: Node, end: End) -> Node:
    """End the node's lnd, and let it be started again."""
    harness.runtime.end(node.id, end=end)
    await harness.settled()
    await harness.later(minutes=5)
    return await harness.node(node.id)


async def test_operator_and_owner_are_told_of_a_node_that_runs_out_of_memory(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    labels = {"cause": "out_of_memory"}
    before = REGISTRY.get_sample_value("leyden_lnd_ends_total", labels) or 0
    for times in (1, 2):
        fleet_harness.runtime.say(node.id, LndState.LOCKED)
        node = await end(fleet_harness, node, SHORT)
        assert node.trouble is not None
        assert (node.trouble.times, await alarms(fleet_harness)) == (times, [])
    node = await end(fleet_harness, node, SHORT)
    ((kind, what),) = await alarms(fleet_harness)
    assert kind == "node.crashing"
    assert f"node {node.id} ran out of memory 3 times in a row" in what
    assert "standard_memory_mb" in what
    assert await whys(fleet_harness) == [
        "ran out of memory, 3 times in a row: OOMKilled"
    ]
    assert REGISTRY.get_sample_value("leyden_lnd_ends_total", labels) == before + 3
    shown = await views.show(fleet_harness.fleet, HARBOUR, node.id)
    assert "needs a larger size" in shown.listed.reason
    events = await stored_events(fleet_harness.fleet.database, HARBOUR)
    stopped = [data for kind, data in events if kind == "node.stopped"]
    assert stopped[-1]["cause"] == "out_of_memory"
    assert stopped[-1]["reason"].startswith("lnd ran out of memory")


async def test_node_that_runs_well_again_raises_no_alarm(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    for _ in range(3):
        node = await end(fleet_harness, node, SHORT)
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    assert len(await alarms(fleet_harness)) == 1
    await fleet_harness.later(minutes=11)
    assert await alarms(fleet_harness) == []
    assert await whys(fleet_harness) == []


async def test_drained_nodes_need_no_attention(fleet_harness: FleetHarness) -> None:
    node = await fleet_harness.running()
    for _ in range(4):
        node = await end(fleet_harness, node, DRAINED)
    assert node.crashes == 0
    assert await whys(fleet_harness) == []
    assert await alarms(fleet_harness) == []
    shown = await views.show(fleet_harness.fleet, HARBOUR, node.id)
    assert "machine was emptied" in shown.listed.reason


async def test_lost_machine_is_one_alarm_for_its_nodes(
    fleet_harness: FleetHarness,
) -> None:
    nodes = [await fleet_harness.running(name=name) for name in ("one", "two")]
    for each in nodes:
        fleet_harness.runtime.cut_off(each.id)
    await fleet_harness.settled()
    ((kind, what),) = await alarms(fleet_harness)
    assert kind == "node.unknown"
    assert what.startswith("its machine does not respond: since 20")
    assert "2 nodes" in what
    assert all(
        each.startswith("unknown since 20") for each in await whys(fleet_harness)
    )
    (shown, _) = await views.list_(fleet_harness.fleet, HARBOUR)
    assert (shown.status, shown.unknown_since) == (
        NodeStatus.WAITING_INIT,
        fleet_harness.now,
    )
    for each in nodes:
        fleet_harness.runtime.reconnect(each.id)
    await fleet_harness.settled()
    assert await alarms(fleet_harness) == []


async def test_node_that_cannot_be_started_stays_an_alarm_while_it_is_tried(
    fleet_harness: FleetHarness,
) -> None:
    fleet_harness.runtime.fails_after = "checkpoint"
    node = await fleet_harness.running()
    await fleet_harness.later(minutes=5)
    kinds = [kind for kind, _ in await alarms(fleet_harness)]
    assert kinds == ["node.failed"]
    fleet_harness.runtime.fails_after = ""
    fleet_harness.runtime.says = None  # it is created, and waits for a machine
    await fleet_harness.later(minutes=5)
    node = await fleet_harness.node(node.id)
    assert node.status is NodeStatus.STARTING
    assert [kind for kind, _ in await alarms(fleet_harness)] == ["node.failed"]
    assert await whys(fleet_harness) == ["[Errno 28] no space left on device"]
    fleet_harness.runtime.say(node.id, LndState.LOCKED)
    await fleet_harness.settled()
    assert await alarms(fleet_harness) == []
