"""The webhook endpoints: deliveries, test events and secrets."""

from leyden.base.http.operations import Request
from leyden.errors import NodeAway
from leyden.events.dispatchers import Dispatcher
from leyden.nodes import webhooks
from leyden.nodes.api.nodes import node_ref
from leyden.nodes.api.webhook_schemas import delivery, listed, rotated
from leyden.schemas.webhooks import (
    DeliveriesAnswer,
    DeliveriesQuery,
    DeliveryItem,
    SecretAnswer,
    TestEvent,
)


async def deliveries(request: Request, query: DeliveriesQuery) -> DeliveriesAnswer:
    """List deliveries."""
    overview = await webhooks.overview(
        _dispatcher(request),
        *node_ref(request),
        before=query.cursor or None,
        most=query.limit,
    )
    return listed(overview, limit=query.limit)


async def redeliver(request: Request) -> DeliveryItem:
    """Redeliver an event."""
    event_id = request.path["delivery_id"]
    return delivery(
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
    return delivery(
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
    return rotated(node_id, new)


def _dispatcher(request: Request) -> Dispatcher:
    if (dispatcher := request.platform.dispatcher) is None:
        raise NodeAway("this platform runs no nodes", retry_after_s=3600)
    return dispatcher
