"""Events of nodes, for the event log of their organization and for their webhooks.

A node's own webhook gets some of them, as the contract has them. They are queued in the
transactions that made them true.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.times import to_iso, to_us
from leyden.events.rows.subscriptions import NODE_WEBHOOKS
from leyden.events.rules.deliveries import QUEUED, TEST, DeliveryState, Message
from leyden.events.rules.events import Event
from leyden.events.rules.webhooks import WebhookType, body, of_logged
from leyden.nodes.rules.nodes import DesiredState, Node, NodeStatus

_ANNOUNCED: Final = frozenset(
    {
        NodeStatus.WAITING_INIT,
        NodeStatus.WAITING_UNLOCK,
        NodeStatus.RUNNING,
        NodeStatus.STOPPED,
        NodeStatus.FAILED,
    }
)


def of_new(node: Node) -> Event:
    """Return the event of a new node."""
    return _event(
        node,
        "created",
        network=node.network,
        type=node.type,
        version=str(node.version),
    )


def of_change(before: Node, after: Node) -> Iterator[Event]:
    """Return the events of a change, in the order in which they happened."""
    if after.version != before.version:
        yield _event(
            after,
            "updated",
            from_version=str(before.version),
            version=str(after.version),
        )
    if after.process not in ("", before.process):
        yield _event(after, "started", status=after.status)
    if after.wanted is DesiredState.DELETED is not before.wanted:
        yield _event(after, "deleted", status=after.status)
    elif before.wanted is DesiredState.DELETED is not after.wanted:
        yield _event(after, "restored", status=after.status)
    elif after.status is not before.status and after.status in _ANNOUNCED:
        yield _event(after, after.status, status=after.status, **_why(after))


def _why(node: Node) -> dict[str, str]:
    """Return why a node stopped or failed; empty texts if somebody wanted that."""
    if node.status not in {NodeStatus.STOPPED, NodeStatus.FAILED}:
        return {}
    if node.trouble is None:
        return {"cause": "", "reason": ""}
    return {"cause": node.trouble.cause.value, "reason": node.trouble.reason}


def of_settings(node: Node, names: Iterable[str]) -> Event:
    """Return the event of changed settings: their names, as values may be secrets."""
    return _event(node, "settings_changed", settings=sorted(names))


def of_update(node: Node, version: str, service_version: str) -> Event:
    """Return the event of a newer lnd version, logged once for each."""
    once = f"{node.id} update {version}"
    return _event(
        node,
        "update_available",
        once=once,
        version=version,
        service_version=service_version,
    )


def of_blocks(node: Node, line: str) -> Event:
    """Return the event of blocks out of order, in lnd's words."""
    return _event(node, "out_of_order_block", once=f"{node.id} blocks", log=line)


async def record_certificate(
    tx: Stores, node: Node, *, until: datetime, now: datetime
) -> None:
    """Announce once that a certificate expires; the node is locked."""
    once = certificate_once(node.id, until)
    if await tx.events.logged_at(node.organization_id, once) is None:
        ends = to_iso(until)
        tx.events.add(
            _event(node, "certificate_expiring", once=once, expires=ends), at=now
        )


async def record_backup(
    tx: Stores, node: Node, *, taken: datetime | None, now: datetime
) -> None:
    """Log once that lnd's backup of channels is missing; the node is locked.

    `taken` is when the copy that is kept was made: it grows stale.
    """
    kind, when = ("missing", "") if taken is None else ("stale", to_iso(taken))
    once = f"{node.id} backup {kind} {when}"
    if await tx.events.logged_at(node.organization_id, once) is None:
        data = {"node_id": node.id, "name": node.name, "kept": when}
        of = node.organization_id
        event = Event(organization_id=of, type=f"backup.{kind}", data=data, once=once)
        tx.events.add(event, at=now)


def record_drill(
    tx: Stores, node: Node, *, drilled: datetime | None, now: datetime
) -> None:
    """Log that the node's backups have to be proved again; the node is locked."""
    when = "" if drilled is None else to_iso(drilled)
    data = {"node_id": node.id, "name": node.name, "drilled": when}
    event = Event(
        organization_id=node.organization_id, type="backup.drill_due", data=data
    )
    tx.events.add(event, at=now)


def certificate_once(node_id: str, until: datetime) -> str:
    """Return the key under which a certificate's end is logged only once."""
    return f"{node_id} certificate {to_iso(until)}"


def _event(node: Node, kind: str, *, once: str = "", **data: str | list[str]) -> Event:
    return Event(
        organization_id=node.organization_id,
        type=f"node.{kind}",
        data={"node_id": node.id, "name": node.name, **data},
        once=once,
    )


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
        if kind is WebhookType.STATUS:
            await tx.subscription_deliveries.supersede(node.id, kind)
        added |= await tx.subscription_deliveries.queue(
            node.id,
            message_of(node, kind, details, now=now),
            once=event.once if kind is WebhookType.UPDATE else None,
        )
    if added:
        # What waited before goes first, and at once: the receiver may be back.
        await tx.subscription_deliveries.make_due(node.id, now=now)


def message_of(
    node: Node,
    kind: WebhookType,
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
        state=DeliveryState.FAILED if test else DeliveryState.PENDING,
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


async def delete_webhook(tx: Stores, node_id: str) -> None:
    """Delete all webhook data of a node that no longer exists."""
    await tx.subscriptions.delete(node_id)
