"""Alarms about nodes: they can't be started or observed, or their lnd keeps ending."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.alarms import AlarmKind
from leyden.base.rules.times import to_iso
from leyden.nodes.rules.nodes import Cause, NodeStatus
from leyden.operators.rows.counts import FailingNode
from leyden.values import Struct

_LIMIT: Final = 200
# One end may have been an accident; a node whose lnd ends this often in a row has a
# reason to.
_REPEATED: Final = 3
_WORDS: Final[Mapping[Cause, str]] = {
    Cause.NOT_STARTED: "could not be started",
    Cause.OUT_OF_MEMORY: "ran out of memory",
    Cause.KILLED: "was killed",
    Cause.EXITED: "exited by itself",
    Cause.INTERRUPTED: "was stopped by the cluster",
    Cause.UNEXPLAINED: "ended, and nobody saw why",
}


class NodeAlarm(Struct, frozen=True):
    """An alarm about a node, or about the nodes of a lost machine."""

    kind: AlarmKind
    what: str
    subject: str  # the node's id, or why nodes can't be observed
    reason: str = ""


async def list_(reader: Stores, *, now: datetime) -> list[NodeAlarm]:
    """List the alarms about nodes."""
    nodes = await reader.counts.ailing(limit=_LIMIT, now=now)
    found = [*_unknown([each for each in nodes if each.unknown is not None])]
    for each in nodes:
        trouble = each.trouble
        repeated = trouble is not None and trouble.times >= _REPEATED
        starts = trouble is not None and trouble.cause is Cause.NOT_STARTED
        if each.status == NodeStatus.FAILED or (starts and each.crashes > 1):
            what = f"node {each.id} could not be started: `leyden fleet` shows why"
            found.append(NodeAlarm(AlarmKind.NODE_FAILED, what, each.id))
        elif trouble is not None and repeated:
            what = (
                f"the lnd of node {each.id} {_WORDS[trouble.cause]} {trouble.times} "
                f"times in a row{_advice(trouble.cause)}"
            )
            found.append(
                NodeAlarm(AlarmKind.NODE_CRASHING, what, each.id, trouble.cause)
            )
    return found


def why(node: FailingNode) -> str:
    """Return why a node needs attention, for operators; "" if that is not known."""
    said = []
    if node.unknown is not None:
        since = to_iso(node.unknown.since)
        said.append(f"unknown since {since}: {node.unknown.why}")
    if (trouble := node.trouble) is not None:
        words = "" if trouble.cause is Cause.NOT_STARTED else _WORDS[trouble.cause]
        if words and trouble.times > 1:
            words += f", {trouble.times} times in a row"
        said.append(": ".join(part for part in (words, trouble.why) if part))
    return "; ".join(said)


def _unknown(nodes: Sequence[FailingNode]) -> list[NodeAlarm]:
    """Return an alarm for each reason, such as a lost machine, with its nodes."""

    def reason(node: FailingNode) -> str:
        return node.unknown.why if node.unknown is not None else ""

    found = []
    for cause, some in groupby(sorted(nodes, key=reason), key=reason):
        affected = list(some)
        since = min(each.unknown.since for each in affected if each.unknown)
        of_nodes = "1 node" if len(affected) == 1 else f"{len(affected)} nodes"
        what = (
            f"{cause}: since {to_iso(since)}, it is unknown whether the lnd of "
            f"{of_nodes} runs; `leyden fleet` lists them"
        )
        found.append(NodeAlarm(AlarmKind.NODE_UNKNOWN, what, cause))
    return found


def _advice(cause: Cause) -> str:
    if cause is Cause.OUT_OF_MEMORY:
        return (
            ": its wallet needs more memory than its size has; raise "
            "standard_memory_mb or professional_memory_mb, and restart the node"
        )
    return ": `leyden fleet` and the log of the node say more"
