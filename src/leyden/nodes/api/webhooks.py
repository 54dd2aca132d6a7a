"""The webhook endpoints: deliveries, test events and secrets."""

import msgspec

from leyden.base.http.operations import Request
from leyden.base.rules.times import to_iso
from leyden.errors import NodeAway
from leyden.events.api.deliveries import attempts, failing_since, next_attempt
from leyden.events.dispatchers import Dispatcher
from leyden.events.rows.subscription_deliveries import Sent
from leyden.events.rows.subscriptions import Subscription
from leyden.events.subscriptions import Rotated
from leyden.nodes import webhooks
from leyden.nodes.api.nodes import node_ref
from leyden.nodes.webhooks import WebhookOverview
from leyden.schemas.webhooks import (
    DeliveriesAnswer,
    DeliveriesQuery,
    DeliveryItem,
    NodeEvent,
    ReceiverItem,
    SecretAnswer,
    TestEvent,
)


async def deliveries(request: Request, query: DeliveriesQuery) -> DeliveriesAnswer:
    """List deliveries."""
    overview = await webhooks.overview(
        _dispatcher(request),
        *node_ref(request),
        before=query.cursor or None,
        limit=query.limit,
    )
    return _listed(overview, limit=query.limit)


async def redeliver(request: Request) -> DeliveryItem:
    """Redeliver an event."""
    event_id = request.path["delivery_id"]
    return _delivery(
        await webhooks.redeliver(
            _dispatcher(request),
            *node_ref(request),
            event_id,
            actor=request.principal.actor,
        )
    )


async def test(request: Request, body: TestEvent) -> DeliveryItem:
    """Send a test event."""
    status = body.status if isinstance(body.status, str) else None
    return _delivery(
        await webhooks.test(
            _dispatcher(request),
            *node_ref(request),
            actor=request.principal.actor,
            status=status,
        )
    )


async def rotate_secret(request: Request) -> SecretAnswer:
    """Rotate the webhook secret."""
    organization_id, node_id = node_ref(request)
    new = await webhooks.rotate_secret(
        _dispatcher(request), organization_id, node_id, actor=request.principal.actor
    )
    return _rotated(node_id, new)


def _dispatcher(request: Request) -> Dispatcher:
    if (dispatcher := request.platform.dispatcher) is None:
        raise NodeAway("this platform runs no nodes", retry_after_s=3600)
    return dispatcher


def _listed(overview: WebhookOverview, *, limit: int) -> DeliveriesAnswer:
    """Build the response for a page of deliveries."""
    full = len(overview.deliveries) == limit
    return DeliveriesAnswer(
        node_id=overview.node.id,
        receiver=_receiver(overview.endpoint),
        deliveries=[_delivery(each) for each in overview.deliveries],
        next_cursor=overview.deliveries[-1].position if full else 0,
        has_more=full,
    )


def _delivery(sent: Sent) -> DeliveryItem:
    """Build the response for one delivery with its attempts."""
    message = sent.message
    return DeliveryItem(
        delivery_id=message.id,
        event=msgspec.json.decode(message.body, type=NodeEvent),
        test=message.test,
        created=to_iso(message.created),
        status=message.state,
        next_attempt=next_attempt(sent),
        attempts=attempts(sent),
    )


def _rotated(node_id: str, secret: Rotated) -> SecretAnswer:
    """Build the response for a rotated secret."""
    return SecretAnswer(
        node_id=node_id,
        webhook_secret=secret.secret,
        old_secret_signs_until=to_iso(secret.old_signs_until),
    )


def _receiver(endpoint: Subscription) -> ReceiverItem:
    return ReceiverItem(
        webhook=endpoint.url,
        status="active" if endpoint.pause is None else "paused",
        reason=endpoint.pause or "",
        failing_since=failing_since(endpoint),
    )
