"""Request and response schemas of the webhook endpoints."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.schemas.kinds import (
    Created,
    Endpoint,
    HasMore,
    NodeId,
    Time,
    Webhook,
    one_of,
    time,
)


class DeliveriesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Pagination of the deliveries list."""

    limit: Annotated[
        int, Meta(ge=1, le=100, description="Number of deliveries to return.")
    ] = 50
    cursor: Annotated[
        int, Meta(ge=0, le=2**63 - 1, description="`next_cursor` of the last page.")
    ] = 0


class TestEvent(msgspec.Struct, forbid_unknown_fields=True):
    """The status to send. Default: the node's current status.

    If the current status has no event, sends `stopped`.
    """

    status: Annotated[
        Literal["waiting_unlock", "waiting_init", "stopped"] | UnsetType,
        Meta(description="Default: the node's status, if it is one of these."),
    ] = UNSET


class NodeEvent(msgspec.Struct):
    """An event as sent to the webhook."""

    type: Annotated[
        str, one_of("`status`, `update` or `error`.", "status", "update", "error")
    ]
    details: Annotated[dict[str, str], Meta(description="What happened; see Webhooks.")]
    api: Endpoint


class AttemptItem(msgspec.Struct):
    """A delivery attempt: status and first 2 KiB of the response, or the error."""

    time: Time
    took_ms: Annotated[
        int, Meta(description="Duration of the attempt, in milliseconds.")
    ]
    status: Annotated[
        int | None,
        Meta(description="The HTTP status of the response, if there was one."),
    ]
    answer: Annotated[str, Meta(description="The first 2 KiB of the response.")]
    error: Annotated[str, Meta(description="Why there was no response, or empty.")]


class DeliveryItem(msgspec.Struct):
    """A delivery with its event and its attempts, oldest first.

    `status` is pending, delivered, superseded or failed; `next_attempt` is
    "" if no attempt follows.
    """

    delivery_id: Annotated[
        str, Meta(description="The event's id, sent as `webhook-id` at every attempt.")
    ]
    event: Annotated[NodeEvent, Meta(description="The body that is sent.")]
    test: Annotated[bool, Meta(description="Whether this is a test event.")]
    created: Created
    status: Annotated[
        str,
        one_of(
            "`pending`, `delivered`, `superseded` or `failed`.",
            "pending",
            "delivered",
            "superseded",
            "failed",
        ),
    ]
    next_attempt: Annotated[
        str, Meta(description="When the next attempt is due, or empty.")
    ]
    attempts: Annotated[
        list[AttemptItem], Meta(description="The attempts, oldest first.")
    ]


class ReceiverItem(msgspec.Struct):
    """The webhook's status: active, or paused as `failing` or `gone`."""

    webhook: Webhook
    status: Annotated[str, one_of("`active` or `paused`.", "active", "paused")]
    reason: Annotated[
        str,
        one_of("Why it is paused: `failing`, `gone`, or empty.", "failing", "gone", ""),
    ]
    failing_since: Annotated[
        str, Meta(description="Time since which every attempt has failed, or empty.")
    ]


class DeliveriesAnswer(msgspec.Struct):
    """A page of a node's deliveries, newest first."""

    node_id: NodeId
    receiver: Annotated[
        ReceiverItem, Meta(description="The status of your webhook endpoint.")
    ]
    deliveries: Annotated[
        list[DeliveryItem], Meta(description="The deliveries, newest first.")
    ]
    next_cursor: Annotated[
        int, Meta(description="`cursor` of the next page; 0 on the last.")
    ]
    has_more: HasMore = False


class SecretAnswer(msgspec.Struct):
    """The new secret, and the time until which the old one also signs."""

    node_id: NodeId
    webhook_secret: Annotated[str, Meta(description="The new secret.")]
    old_secret_signs_until: Annotated[
        str, time("Time until which the old secret also signs events")
    ]
