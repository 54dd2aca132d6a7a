"""Webhooks, as owners use them: listing, sending again, testing, new secrets."""

import secrets
from datetime import datetime

from leyden.domain.deliveries import State
from leyden.domain.node_settings import MASK
from leyden.domain.nodes import Node
from leyden.domain.sign_in import Right
from leyden.domain.webhooks import body, new_test_event, type_of
from leyden.errors import Conflict
from leyden.services.deliveries.dispatchers import (
    Dispatcher,
    open_secrets,
    record,
    send,
)
from leyden.services.deliveries.node_mail import NODE_MAIL, WEBHOOKS
from leyden.services.nodes.announcements import new_id
from leyden.services.nodes.views import owned_or_not_found
from leyden.services.shared import rights
from leyden.storage.deliveries import Delivery
from leyden.storage.receivers import Receiver
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


async def overview(
    dispatcher: Dispatcher,
    organization_id: str,
    node_id: str,
    *,
    before: int | None,
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
    test_event = new_test_event(node.status, status)
    _count(dispatcher, node)
    now = dispatcher.clock()
    event_id = new_id(now)
    async with dispatcher.database.transaction() as tx:
        await rights.confirm(tx, actor, organization_id, Right.NODES)
        await tx.webhooks.add(
            event_id,
            node_id,
            kind=type_of(test_event),
            body=body(test_event, api=node.api_endpoint),
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
        if receiver.pause is not None:
            # It may be resumed: the task before its events, as `announce` locks them.
            await tx.tasks.put(WEBHOOKS, event.node_id, due=begun)
        await record(dispatcher, tx, NODE_MAIL, receiver, event, answer, at=begun)
        sent, *_ = await tx.deliveries.list_(
            event.node_id, before=event.position + 1, most=1
        )
    return sent
