"""The single way to change a node.

The change, its event and the task that follows from it are one commit.
"""

import logging
from datetime import datetime
from typing import Final

from prometheus_client import Counter, Histogram

from leyden.base.database.stores import Stores
from leyden.nodes import node_events
from leyden.nodes.fleet import EVERYTHING, NODE, ROUTES, GatewayPorts
from leyden.nodes.routes import route_to
from leyden.nodes.rules.node_moves import NodeStep, plan
from leyden.nodes.rules.nodes import DesiredState, Node, NodeStatus
from leyden.values import replace

_ANSWERING: Final = Histogram(
    "leyden_node_create_to_answering_seconds",
    "From the creation of a node until its first lnd waits for a wallet.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900),
)

_BY_OWNER: Final = "stopped_by_owner"
_WANTED: Final = "wanted"
_ENDS: Final = Counter(
    "leyden_lnd_ends",
    "Ends of lnds: wanted (a command), stopped_by_owner (through lnd), or the cause.",
    ["cause"],
)

# Whichever: they are the same before and after.
_PORTS: Final = GatewayPorts(peer_host="localhost")

log = logging.getLogger(__name__)


async def change(tx: Stores, before: Node, after: Node, *, now: datetime) -> Node:
    """Save a changed node and return it; add its event and its due task.

    Raise Stale if it changed since it was read; do nothing if it is the same.
    """
    if after == before:
        return before
    await tx.nodes.save(before, after)
    events = [*node_events.of_change(before, after)]
    tx.events.add(*events, at=now)
    if _route_changes(before, after):
        await tx.tasks.put(ROUTES, EVERYTHING, due=now)
    if plan(after, now) is not NodeStep.NOTHING and not _became_unknown(before, after):
        due = after.due if plan(after, now) is NodeStep.WAIT else now
        await tx.tasks.put(NODE, after.id, due=due)
    if after.settings.webhook != before.settings.webhook:
        await node_events.url_changed(tx, after, now=now)
    if after.wanted is DesiredState.DELETED is not before.wanted:
        await node_events.node_deleted(tx, after)
    if before.has_process and not after.has_process:
        _record_end(before, after)
    if after.status is not before.status:
        await node_events.announce(tx, after, events, now=now)
        log.info("node %s: %s → %s", after.id, before.status, after.status)
        if after.status is NodeStatus.WAITING_INIT and _is_first_start(after):
            _ANSWERING.observe((now - after.created).total_seconds())
    return replace(after, edition=before.edition + 1)


def _became_unknown(before: Node, after: Node) -> bool:
    """Return whether nothing else changed: that is no reason to try anything sooner."""
    return after.unknown is not None and after == replace(before, unknown=after.unknown)


def _record_end(before: Node, after: Node) -> None:
    """Count and log the end of an lnd, with what caused it."""
    trouble = after.trouble
    if after.wanted is not before.wanted:
        cause = _BY_OWNER  # through lnd itself
    elif after.wanted is not DesiredState.RUNNING or before.is_outdated:
        cause = _WANTED
    else:
        cause = trouble.cause.value if trouble is not None else _WANTED
    _ENDS.labels(cause).inc()
    if trouble is not None and cause == trouble.cause:
        said = {"cause": cause, "why": trouble.why}
        log.warning("node %s: its lnd ended", after.id, extra=said)


def _is_first_start(node: Node) -> bool:
    # A node that was stopped before it got a wallet, and started again, counts as well:
    # nothing that we store distinguishes it.
    return node.revision == 1 and node.crashes == 0


def _route_changes(before: Node, after: Node) -> bool:
    return route_to(before, _PORTS) != route_to(after, _PORTS)
