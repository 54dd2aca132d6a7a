"""Events for a node's webhook, stored in the transactions that made them true."""

import secrets
from collections.abc import Iterable
from datetime import datetime

from leyden.domain.nodes import DesiredState, Node
from leyden.domain.times import is_recent, to_us
from leyden.domain.webhooks import (
    ANNOUNCED,
    BlocksOutOfOrder,
    Event,
    StatusChanged,
    body,
    once_key,
    type_of,
)
from leyden.lnd.log import QUIET
from leyden.services.deliveries.node_mail import WEBHOOKS
from leyden.storage.stores import Stores


async def announce(
    tx: Stores, node: Node, events: Iterable[Event], *, now: datetime
) -> None:
    """Store events in the transaction that made them true.

    States that the contract does not announce are skipped. So is everything
    for a node without a webhook, or one that is being deleted.
    """
    if not node.settings.webhook or node.wanted is DesiredState.DELETED:
        return
    added = locked = False
    for event in events:
        if not await _is_due(tx, node, event, now):
            continue
        if not locked:
            # Lock the task before its deliveries, as the dispatcher does: the other
            # order would deadlock.
            await tx.tasks.put(WEBHOOKS, node.id, due=now)
            locked = True
        if isinstance(event, StatusChanged):
            await tx.webhooks.supersede_status(node.id)
        added |= await tx.webhooks.add(
            new_id(now),
            node.id,
            kind=type_of(event),
            body=body(event, api=node.api_endpoint),
            told_once=once_key(event),
            now=now,
        )
    if added:
        # What waited before goes first, and at once: the receiver may be back.
        await tx.webhooks.make_due(node.id, now=now)


async def url_changed(tx: Stores, node: Node, *, now: datetime) -> None:
    """Reset the receiver after a change of its URL; pending events go there."""
    if node.settings.webhook:
        await tx.tasks.put(WEBHOOKS, node.id, due=now)  # first, as `announce` does
    await tx.receivers.set_health(node.id, failing_since=None, pause=None)
    if node.settings.webhook:
        await tx.webhooks.make_due(node.id, now=now)
    else:
        await tx.webhooks.give_up(node.id, before=now)


async def node_deleted(tx: Stores, node: Node) -> None:
    """Drop pending events of a node that its owner has deleted."""
    await tx.webhooks.give_all_up(node.id)


async def delete(tx: Stores, node_id: str) -> None:
    """Delete all webhook data of a node that no longer exists."""
    await tx.webhooks.delete(node_id)
    await tx.receivers.delete(node_id)


async def _is_due(tx: Stores, node: Node, event: Event, now: datetime) -> bool:
    match event:
        case StatusChanged(status):
            return status in ANNOUNCED
        case BlocksOutOfOrder():
            # The reader of the log may have been restarted amid a burst of lines.
            last = await tx.webhooks.last_error(node.id)
            return last is None or not is_recent(last, now=now, within=QUIET)
    return True


def new_id(now: datetime) -> str:
    """Return an unguessable id that sorts after earlier ones.

    Ids in time order are adjacent in indexes; random ones would each touch
    another page.
    """
    return f"msg_{to_us(now):014x}{secrets.token_hex(9)}"
