"""Deliveries of webhooks, as the API shows them."""

from datetime import datetime

import msgspec

from leyden.domain.deliveries import Answer, State
from leyden.domain.times import to_iso
from leyden.schemas.webhooks import (
    AttemptItem,
    DeliveriesAnswer,
    DeliveryItem,
    NodeEvent,
    ReceiverItem,
    SecretAnswer,
)
from leyden.services.nodes.webhooks import Overview, Rotated
from leyden.storage.deliveries import Delivery
from leyden.storage.receivers import Receiver


def listed(overview: Overview, *, limit: int) -> DeliveriesAnswer:
    """Build the response for a page of deliveries."""
    full = len(overview.deliveries) == limit
    return DeliveriesAnswer(
        node_id=overview.node.id,
        receiver=_receiver(overview.receiver, overview.node.settings.webhook),
        deliveries=[delivery(each) for each in overview.deliveries],
        next_cursor=overview.deliveries[-1].event.position if full else 0,
    )


def delivery(shown: Delivery) -> DeliveryItem:
    """Build the response for one delivery with its attempts."""
    event = shown.event
    pending = event.state is State.PENDING
    return DeliveryItem(
        delivery_id=event.id,
        event=msgspec.json.decode(event.body, type=NodeEvent),
        test=event.test,
        created=to_iso(event.created),
        status=event.state,
        next_attempt=to_iso(event.due) if pending else "",
        attempts=[attempt(each.at, each.answer) for each in shown.attempts],
    )


def rotated(node_id: str, secret: Rotated) -> SecretAnswer:
    """Build the response for a rotated secret."""
    return SecretAnswer(
        node_id=node_id,
        webhook_secret=secret.secret,
        old_secret_signs_until=to_iso(secret.old_signs_until),
    )


def _receiver(receiver: Receiver, webhook: str) -> ReceiverItem:
    since = receiver.failing_since
    return ReceiverItem(
        webhook=webhook,
        status="active" if receiver.pause is None else "paused",
        reason=receiver.pause or "",
        failing_since=to_iso(since) if since is not None else "",
    )


def attempt(at: datetime, answer: Answer) -> AttemptItem:
    """Build the response for one attempt."""
    return AttemptItem(
        time=to_iso(at),
        took_ms=round(answer.took.total_seconds() * 1000),
        status=answer.status,
        answer=answer.excerpt,
        error=answer.error,
    )
