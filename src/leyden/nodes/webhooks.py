"""Webhooks, as owners use them: listing, sending again, testing, new secrets."""

from leyden.base import rights
from leyden.base.rules.sign_in import Right
from leyden.errors import Conflict
from leyden.events import manual_deliveries, subscriptions
from leyden.events.dispatchers import Dispatcher
from leyden.events.rows.subscription_deliveries import Sent
from leyden.events.rows.subscriptions import Subscription
from leyden.events.rules.webhooks import WebhookType, status_of_test
from leyden.events.subscriptions import Rotated
from leyden.nodes.node_events import message_of
from leyden.nodes.rules.nodes import Node
from leyden.nodes.views import owned_or_not_found
from leyden.schemas.node_settings import MASK
from leyden.values import Struct


class WebhookOverview(Struct, frozen=True, kw_only=True):
    """A node's webhook status, as shown to its owner."""

    node: Node
    endpoint: Subscription
    deliveries: list[Sent]


async def overview(
    dispatcher: Dispatcher,
    organization_id: str,
    node_id: str,
    *,
    before: int | None,
    limit: int,
) -> WebhookOverview:
    """Return a page of deliveries, newest first, and the delivery status."""
    reader = dispatcher.database.reader
    return WebhookOverview(
        node=owned_or_not_found(await reader.nodes.find(node_id), organization_id),
        endpoint=await reader.subscriptions.get_of_node(node_id),
        deliveries=await reader.subscription_deliveries.page(
            node_id, before=before, limit=limit
        ),
    )


async def redeliver(
    dispatcher: Dispatcher,
    organization_id: str,
    node_id: str,
    event_id: str,
    *,
    actor: str,
) -> Sent:
    """Send an event again now, whatever its state; return its attempts.

    The event keeps its id, so that the receiver can recognize it. If there
    were too many lately, raise TooMany and change nothing.
    """
    await _with_webhook(dispatcher, organization_id, node_id)
    reader = dispatcher.database.reader
    delivery = await reader.subscription_deliveries.get(node_id, event_id)
    await rights.confirm_before(
        dispatcher.database, actor, organization_id, Right.NODES
    )
    to = await reader.subscriptions.get_of_node(node_id)
    return await manual_deliveries.send_now(dispatcher, to, delivery.message)


async def test(
    dispatcher: Dispatcher,
    organization_id: str,
    node_id: str,
    *,
    actor: str,
    status: str | None = None,  # noqa: PT028  this is no test of ours
) -> Sent:
    """Send the receiver a test status now, and return its answer.

    The status is the one asked for, or else the node's own if that is one
    that is announced. A paused receiver that accepts the test is also sent
    its pending events. If there were too many lately, raise TooMany and store
    nothing.
    """
    node = await _with_webhook(dispatcher, organization_id, node_id)
    now = dispatcher.clock()
    details = {"status": status_of_test(node.status, status)}
    message = message_of(node, WebhookType.STATUS, details, now=now, test=True)
    async with dispatcher.database.transaction() as tx:
        await rights.confirm(tx, actor, organization_id, Right.NODES)
        await tx.subscriptions.keep_of_node(node_id, now=now)
    to = await dispatcher.database.reader.subscriptions.get_of_node(node_id)
    return await manual_deliveries.send_now(dispatcher, to, message)


async def rotate_secret(
    dispatcher: Dispatcher, organization_id: str, node_id: str, *, actor: str
) -> Rotated:
    """Replace the secret of the node's webhook; it is shown and used now.

    For a day events are signed with the old secret as well, so that a
    receiver that verifies signatures misses nothing until it knows the new
    one.
    """
    now = dispatcher.clock()
    async with dispatcher.database.transaction() as tx:
        await rights.confirm(tx, actor, organization_id, Right.NODES)
        # Locked, so that of two rotations at once the second finds the first's.
        owned_or_not_found(await tx.nodes.lock(node_id), organization_id)
        await tx.subscriptions.keep_of_node(node_id, now=now)
        endpoint = await tx.subscriptions.get_of_node(node_id)
        rotated = await subscriptions.replace_secret(dispatcher, tx, endpoint, now=now)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="webhook secret rotated",
            subject=node_id,
            organization_id=organization_id,
            changes={"webhook_secret": (MASK, MASK)},
        )
    return rotated


async def _with_webhook(
    dispatcher: Dispatcher, organization_id: str, node_id: str
) -> Node:
    found = await dispatcher.database.reader.nodes.find(node_id)
    node = owned_or_not_found(found, organization_id)
    if not node.settings.webhook:
        raise Conflict("the node has no webhook; set one in its settings")
    return node
