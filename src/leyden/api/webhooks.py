"""The webhook endpoints: what was told to a node's receiver, and trying it out."""

from leyden.api.nodes import which
from leyden.api.operations import Request
from leyden.api.webhook_schemas import (
    DeliveriesAnswer,
    DeliveriesQuery,
    DeliveryItem,
    SecretAnswer,
    TestEvent,
    delivery,
    listed,
    rotated,
)
from leyden.errors import NodeAway
from leyden.services import webhooks
from leyden.services.courier import Courier

_NEWEST = (1 << 63) - 1


async def deliveries(request: Request, query: DeliveriesQuery) -> DeliveriesAnswer:
    """List what was told to the node's webhook, newest first, with every attempt."""
    overview = await webhooks.overview(
        _courier(request),
        *which(request),
        before=query.cursor or _NEWEST,
        most=query.limit,
    )
    return listed(overview, limit=query.limit)


async def redeliver(request: Request) -> DeliveryItem:
    """Send an event once more, now, under its old id; show all attempts at it."""
    event_id = request.path["delivery_id"]
    return delivery(
        await webhooks.redeliver(_courier(request), *which(request), event_id)
    )


async def test(request: Request, body: TestEvent) -> DeliveryItem:
    """Send the webhook a status, now; resume it if it was paused."""
    status = body.status if isinstance(body.status, str) else None
    return delivery(
        await webhooks.test(_courier(request), *which(request), status=status)
    )


async def rotate_secret(request: Request) -> SecretAnswer:
    """Make a new webhook secret; the old one signs beside it for a day."""
    organization_id, node_id = which(request)
    new = await webhooks.rotate_secret(
        _courier(request), organization_id, node_id, actor=request.principal.actor
    )
    return rotated(node_id, new)


def _courier(request: Request) -> Courier:
    if (courier := request.platform.courier) is None:
        raise NodeAway("no nodes are run here", retry_after_s=3600)
    return courier
