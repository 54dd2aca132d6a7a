"""Changing a node: the one way in which it is done.

The change, its announcement and the task that follows from it are one commit.
"""

from datetime import datetime

from leyden import logs
from leyden.domain.node_moves import Step, plan
from leyden.domain.nodes import Node, Wanted
from leyden.domain.webhooks import StatusChanged
from leyden.services import webhooks
from leyden.services.fleet import EVERYTHING, NODE, ROUTES
from leyden.storage.nouns import Nouns
from leyden.values import replace

log = logs.get()


async def change(tx: Nouns, before: Node, after: Node, *, now: datetime) -> Node:
    """Write the node as it is now, and give it; say so, and let be done what is due.

    Stale when it changed since it was read; nothing when it is the same.
    """
    if after == before:
        return before
    await tx.nodes.save(before, after)
    if _leads_elsewhere(before, after):
        await tx.tasks.put(ROUTES, EVERYTHING, due=now)
    if plan(after, now) is not Step.NOTHING:
        due = after.due if plan(after, now) is Step.WAIT else now
        await tx.tasks.put(NODE, after.id, due=due)
    if after.settings.webhook != before.settings.webhook:
        await webhooks.readdressed(tx, after, now=now)
    if after.wanted is Wanted.DELETED is not before.wanted:
        await webhooks.ended(tx, after)
    if after.status is not before.status:
        await webhooks.announce(tx, after, [StatusChanged(after.status)], now=now)
        log.info("node %s: %s → %s", after.id, before.status, after.status)
    return replace(after, edition=before.edition + 1)


def _leads_elsewhere(before: Node, after: Node) -> bool:
    return _route(before) != _route(after)


def _route(node: Node) -> tuple[object, ...]:
    settings = node.settings
    return (
        node.wanted == "deleted",
        node.host,
        settings.whitelist,
        settings.rest,
        settings.grpc,
    )
