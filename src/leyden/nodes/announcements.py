"""Events for a node's webhook, queued in the transactions that made them true."""

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime

from leyden.base.database.stores import Stores
from leyden.base.rules.times import to_us
from leyden.events.rows.subscriptions import NODE_WEBHOOKS
from leyden.events.rules.deliveries import QUEUED, TEST, Message, State
from leyden.events.rules.events import Event
from leyden.events.rules.webhooks import Type, body, of_logged
from leyden.nodes.rules.nodes import DesiredState, Node


async def announce(
    tx: Stores, node: Node, events: Iterable[Event], *, now: datetime
) -> None:
    """Queue those of a node's events that the contract has.

    Nothing is queued for a node without a webhook, or one that is being deleted. A
    newer status supersedes one that waits; an update is queued only once.
    """
    if not node.settings.webhook or node.wanted is DesiredState.DELETED:
        return
    added = locked = False
    for event in events:
        if (found := of_logged(event)) is None:
            continue
        kind, details = found
        if not locked:
            # Lock the task before its deliveries, as the dispatcher does: the other
            # order would deadlock.
            await tx.tasks.put(NODE_WEBHOOKS, node.id, due=now)
            await tx.subscriptions.keep_of_node(node.id, now=now)
            locked = True
        if kind is Type.STATUS:
            await tx.subscription_deliveries.supersede(node.id, kind)
        added |= await tx.subscription_deliveries.queue(
            node.id,
            message_of(node, kind, details, now=now),
            once=event.once if kind is Type.UPDATE else None,
        )
    if added:
        # What waited before goes first, and at once: the receiver may be back.
        await tx.subscription_deliveries.make_due(node.id, now=now)


def message_of(
    node: Node,
    kind: Type,
    details: Mapping[str, str],
    *,
    now: datetime,
    test: bool = False,
) -> Message:
    """Return an event as a node's webhook gets it."""
    return Message(
        # Ids in time order are adjacent in indexes; random ones would each touch
        # another page.
        id=f"msg_{to_us(now):014x}{secrets.token_hex(9)}",
        number=TEST if test else QUEUED,
        type=kind,
        body=body(kind, details, api=node.api_endpoint),
        created=now,
        state=State.FAILED if test else State.PENDING,
        due=now,
        attempts=0,
    )


async def url_changed(tx: Stores, node: Node, *, now: datetime) -> None:
    """Reset the receiver after a change of its URL; pending events go there."""
    if node.settings.webhook:
        await tx.tasks.put(NODE_WEBHOOKS, node.id, due=now)  # first, as `announce` does
    await tx.subscriptions.set_health(node.id, failing_since=None, pause=None)
    if node.settings.webhook:
        await tx.subscription_deliveries.make_due(node.id, now=now)
    else:
        await tx.subscription_deliveries.give_up(node.id, before=now)


async def node_deleted(tx: Stores, node: Node) -> None:
    """Drop pending events of a node that its owner has deleted."""
    await tx.subscription_deliveries.give_up(node.id)


async def delete(tx: Stores, node_id: str) -> None:
    """Delete all webhook data of a node that no longer exists."""
    await tx.subscriptions.delete(node_id)
