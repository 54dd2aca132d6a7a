"""A node's webhook and its deliveries, as the API shows them."""

import msgspec

from leyden.base.rules.times import to_iso
from leyden.events.api.deliveries import attempts, failing_since, next_attempt
from leyden.events.rows.subscription_deliveries import Sent
from leyden.events.rows.subscriptions import Subscription
from leyden.events.subscriptions import Rotated
from leyden.nodes.webhooks import Overview
from leyden.schemas.webhooks import (
    DeliveriesAnswer,
    DeliveryItem,
    NodeEvent,
    ReceiverItem,
    SecretAnswer,
)


def listed(overview: Overview, *, limit: int) -> DeliveriesAnswer:
    """Build the response for a page of deliveries."""
    full = len(overview.deliveries) == limit
    return DeliveriesAnswer(
        node_id=overview.node.id,
        receiver=_receiver(overview.endpoint),
        deliveries=[delivery(each) for each in overview.deliveries],
        next_cursor=overview.deliveries[-1].position if full else 0,
    )


def delivery(sent: Sent) -> DeliveryItem:
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


def rotated(node_id: str, secret: Rotated) -> SecretAnswer:
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
