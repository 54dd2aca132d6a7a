"""What the webhook endpoints give."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.domain.deliveries import State
from leyden.domain.times import to_iso
from leyden.services.webhooks import Overview, Rotated
from leyden.storage.deliveries import Attempt, Delivery
from leyden.storage.receivers import Receiver


class DeliveriesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which part of the deliveries."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    cursor: Annotated[
        int, Meta(ge=0, le=2**63 - 1, description="next_cursor of the page before.")
    ] = 0


class TestEvent(msgspec.Struct, forbid_unknown_fields=True):
    """The status to send; else the node's own, or `stopped` if that is never sent."""

    status: Literal["waiting_unlock", "waiting_init", "stopped"] | UnsetType = UNSET


class EventItem(msgspec.Struct):
    """An event as it is sent."""

    type: str
    details: dict[str, str]
    api: str


class AttemptItem(msgspec.Struct):
    """One attempt: the status and the first 2 KiB of the answer, or the error."""

    time: str
    took_ms: int
    status: int | None
    answer: str
    error: str


class DeliveryItem(msgspec.Struct):
    """An event on its way, with its attempts, oldest first.

    `status` is pending, delivered, superseded or failed; `next_attempt` is "" where
    there will be none.
    """

    delivery_id: str
    event: EventItem
    test: bool
    created: str
    status: str
    next_attempt: str
    attempts: list[AttemptItem]


class ReceiverItem(msgspec.Struct):
    """How the receiver does: active, or paused because it is `failing` or `gone`."""

    webhook: str
    status: str
    reason: str
    failing_since: str


class DeliveriesAnswer(msgspec.Struct):
    """A node's deliveries, newest first; `next_cursor` is 0 on the last page."""

    node_id: str
    receiver: ReceiverItem
    deliveries: list[DeliveryItem]
    next_cursor: int


class SecretAnswer(msgspec.Struct):
    """The new secret, and until when the old one signs beside it."""

    node_id: str
    webhook_secret: str
    old_secret_signs_until: str


def listed(overview: Overview, *, limit: int) -> DeliveriesAnswer:
    """Show a page of deliveries."""
    full = len(overview.deliveries) == limit
    return DeliveriesAnswer(
        node_id=overview.node.id,
        receiver=_receiver(overview.receiver, overview.node.settings.webhook),
        deliveries=[delivery(each) for each in overview.deliveries],
        next_cursor=overview.deliveries[-1].event.position if full else 0,
    )


def delivery(shown: Delivery) -> DeliveryItem:
    """Show an event with its attempts."""
    event = shown.event
    pending = event.state is State.PENDING
    return DeliveryItem(
        delivery_id=event.id,
        event=msgspec.json.decode(event.body, type=EventItem),
        test=event.test,
        created=to_iso(event.created),
        status=event.state,
        next_attempt=to_iso(event.due) if pending else "",
        attempts=[_attempt(each) for each in shown.attempts],
    )


def rotated(node_id: str, secret: Rotated) -> SecretAnswer:
    """Show a new secret."""
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


def _attempt(made: Attempt) -> AttemptItem:
    answer = made.answer
    return AttemptItem(
        time=to_iso(made.at),
        took_ms=round(answer.took.total_seconds() * 1000),
        status=answer.status,
        answer=answer.excerpt,
        error=answer.error,
    )
