"""Webhooks: announcing events, listing, testing, rotating secrets."""

import secrets
from collections.abc import Iterable
from datetime import datetime

from leyden.domain.deliveries import State
from leyden.domain.node_settings import MASK
from leyden.domain.nodes import DesiredState, Node
from leyden.domain.sign_in import Right
from leyden.domain.times import is_recent, to_us
from leyden.domain.webhooks import (
    ANNOUNCED,
    BlocksOutOfOrder,
    Event,
    StatusChanged,
    body,
    new_test_event,
    once_key,
    type_of,
)
from leyden.errors import Conflict
from leyden.lnd.log import QUIET
from leyden.services.deliveries.dispatchers import (
    Dispatcher,
    open_secrets,
    record,
    send,
)
from leyden.services.deliveries.node_mail import NODE_MAIL, WEBHOOKS
from leyden.services.nodes.views import owned_or_not_found
from leyden.services.shared import rights
from leyden.storage.deliveries import Delivery
from leyden.storage.receivers import Receiver
from leyden.storage.stores import Stores
from leyden.storage.webhooks import KeptEvent
from leyden.values import Struct

_SECRET_BYTES = 32


class Overview(Struct, frozen=True, kw_only=True):
    """A node's webhook status, as shown to its owner."""

    node: Node
    receiver: Receiver
    deliveries: list[Delivery]


class Rotated(Struct, frozen=True, kw_only=True):
    """A new secret, and until when events are also signed with the old one."""

    secret: str
    old_signs_until: datetime


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
        if not await _is_news(tx, node, event, now):
            continue
        if not locked:
            # The task before its deliveries, as whoever delivers them locks them: the
            # other way round the two of us would wait for each other.
            await tx.tasks.put(WEBHOOKS, node.id, due=now)
            locked = True
        if isinstance(event, StatusChanged):
            await tx.webhooks.supersede_status(node.id)
        added |= await tx.webhooks.add(
            _new_id(now),
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


async def forget(tx: Stores, node_id: str) -> None:
    """Delete all webhook data of a node that no longer exists."""
    await tx.webhooks.forget(node_id)
    await tx.receivers.forget(node_id)


async def overview(
    dispatcher: Dispatcher,
    organization_id: str,
    node_id: str,
    *,
    before: int,
    most: int,
) -> Overview:
    """Return a page of deliveries, newest first, and the delivery status."""
    reader = dispatcher.database.reader
    return Overview(
        node=owned_or_not_found(await reader.nodes.find(node_id), organization_id),
        receiver=await reader.receivers.get(node_id),
        deliveries=await reader.deliveries.list_(node_id, before=before, most=most),
    )


async def redeliver(
    dispatcher: Dispatcher,
    organization_id: str,
    node_id: str,
    event_id: str,
    *,
    actor: str,
) -> Delivery:
    """Send an event again now, whatever its state; return its attempts.

    The event keeps its id, so that the receiver can recognize it. If there
    were too many lately, raise TooMany and change nothing.
    """
    node = await _with_webhook(dispatcher, organization_id, node_id)
    event = await dispatcher.database.reader.webhooks.get(node_id, event_id)
    await rights.confirm_before(
        dispatcher.database, actor, organization_id, Right.NODES
    )
    _count(dispatcher, node)
    return await _send(dispatcher, event)


async def test(
    dispatcher: Dispatcher,
    organization_id: str,
    node_id: str,
    *,
    actor: str,
    status: str | None = None,  # noqa: PT028  this is no test of ours
) -> Delivery:
    """Send the receiver a test status now, and return its answer.

    The status is the one asked for, or else the node's own if that is one
    that is announced. A paused receiver that accepts the test is also sent
    its pending events. If there were too many lately, raise TooMany and store
    nothing.
    """
    node = await _with_webhook(dispatcher, organization_id, node_id)
    told = new_test_event(node.status, status)
    _count(dispatcher, node)
    now = dispatcher.clock()
    event_id = _new_id(now)
    async with dispatcher.database.transaction() as tx:
        await rights.confirm(tx, actor, organization_id, Right.NODES)
        await tx.webhooks.add(
            event_id,
            node_id,
            kind=type_of(told),
            body=body(told, api=node.api_endpoint),
            now=now,
            state=State.FAILED,  # until it is delivered: nobody sends it later
            test=True,
        )
        event = await tx.webhooks.get(node_id, event_id)
    return await _send(dispatcher, event)


async def rotate_secret(
    dispatcher: Dispatcher, organization_id: str, node_id: str, *, actor: str
) -> Rotated:
    """Replace the secret of the node's webhook; it is shown and used now.

    For a day events are signed with the old secret as well, so that a
    receiver that verifies signatures misses nothing until it knows the new
    one.
    """
    now = dispatcher.clock()
    until = now + dispatcher.rules.old_secret_signs
    new = secrets.token_hex(_SECRET_BYTES)
    seal = dispatcher.sealer.seal
    async with dispatcher.database.transaction() as tx:
        await rights.confirm(tx, actor, organization_id, Right.NODES)
        # Locked, so that of two rotations at once the second finds the first's.
        owned_or_not_found(await tx.nodes.lock(node_id), organization_id)
        receiver = await tx.receivers.get(node_id)
        old, *_ = open_secrets(dispatcher, receiver, now=now)
        await tx.receivers.keep_old_secret(
            node_id,
            seal(old.encode(), purpose=receiver.old_purpose),
            until=until,
        )
        await tx.launch_specs.set_webhook_secret(
            node_id, seal(new.encode(), purpose=receiver.purpose)
        )
        await tx.audit.add(
            at=now,
            actor=actor,
            action="webhook secret rotated",
            subject=node_id,
            organization_id=organization_id,
            changes={"webhook_secret": (MASK, MASK)},
        )
    return Rotated(secret=new, old_signs_until=until)


async def _is_news(tx: Stores, node: Node, event: Event, now: datetime) -> bool:
    match event:
        case StatusChanged(status):
            return status in ANNOUNCED
        case BlocksOutOfOrder():
            # Whoever reads the log may have been restarted amid a burst of lines.
            last = await tx.webhooks.last_error(node.id)
            return last is None or not is_recent(last, now=now, within=QUIET)
    return True


async def _with_webhook(
    dispatcher: Dispatcher, organization_id: str, node_id: str
) -> Node:
    found = await dispatcher.database.reader.nodes.find(node_id)
    node = owned_or_not_found(found, organization_id)
    if not node.settings.webhook:
        raise Conflict("the node has no webhook; set one in its settings")
    return node


def _count(dispatcher: Dispatcher, node: Node) -> None:
    at_s = dispatcher.clock().timestamp()
    dispatcher.by_hand.take(node.organization_id, node.settings.webhook, at_s=at_s)


async def _send(dispatcher: Dispatcher, event: KeptEvent) -> Delivery:
    begun = dispatcher.clock()
    receiver = await dispatcher.database.reader.receivers.get(event.node_id)
    signing = open_secrets(dispatcher, receiver, now=begun)
    opened = dispatcher.sender.open(receiver.url, receiver.organization_id)
    async with opened as connection:
        answer = await send(connection, receiver, signing, event, now=begun)
    async with dispatcher.database.transaction() as tx:
        await record(dispatcher, tx, NODE_MAIL, receiver, event, answer, at=begun)
        sent, *_ = await tx.deliveries.list_(
            event.node_id, before=event.position + 1, most=1
        )
    return sent


def _new_id(now: datetime) -> str:
    """Return an unguessable id that sorts after earlier ones.

    Ids in time order are adjacent in indexes; random ones would each touch
    another page.
    """
    return f"msg_{to_us(now):014x}{secrets.token_hex(9)}"
