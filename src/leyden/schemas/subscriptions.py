"""Request and response schemas of subscriptions."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.schemas.kinds import Created, HasMore, one_of, time
from leyden.schemas.webhooks import AttemptItem

_URL = "The URL that events are sent to."
_TYPES = (
    "Types of events, like `order.paid`; `order.*` means all types of orders, `*` all "
    "types."
)
_DESCRIPTION = "Your description of the endpoint."
# What may be chosen; events/rules/chat.py says what each of them is sent.
FORMATS = ("standard", "slack", "discord", "telegram", "ntfy")
_FORMAT = (
    "Format of the body: `standard` is the event as signed JSON; `slack`, `discord`, "
    "`telegram` and `ntfy` are a readable sentence, unsigned."
)
_SHOWN_URL = "The URL; for a chat, whose URL is a secret, only the host."
Types = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=50)]],
    Meta(min_length=1, max_length=50, description=_TYPES),
]
SubscriptionId = Annotated[
    str, Meta(description="The subscription's id: a UUID and the letter S.")
]


class NewSubscription(msgspec.Struct, forbid_unknown_fields=True):
    """A subscription to create."""

    url: Annotated[str, Meta(description=_URL)]
    types: Types = msgspec.field(default_factory=lambda: ["*"])
    description: Annotated[str, Meta(max_length=200, description=_DESCRIPTION)] = ""
    format: Annotated[str, one_of(_FORMAT, *FORMATS)] = "standard"


class SubscriptionChange(msgspec.Struct, forbid_unknown_fields=True):
    """What to change of a subscription; the rest stays."""

    url: Annotated[str | UnsetType, Meta(description=_URL)] = UNSET
    types: Annotated[list[str] | UnsetType, Meta(description=_TYPES)] = UNSET
    description: Annotated[str | UnsetType, Meta(description=_DESCRIPTION)] = UNSET
    paused: Annotated[
        bool | UnsetType,
        Meta(
            description=(
                "true pauses the subscription; false resumes it where it stopped."
            )
        ),
    ] = UNSET


class SubscriptionItem(msgspec.Struct):
    """A subscription: a webhook endpoint, and the types of events it gets."""

    subscription_id: SubscriptionId
    url: Annotated[str, Meta(description=_SHOWN_URL)]
    format: Annotated[str, one_of(_FORMAT, *FORMATS)]
    types: Annotated[list[str], Meta(description=_TYPES)]
    description: Annotated[str, Meta(description=_DESCRIPTION)]
    created: Created
    status: Annotated[str, one_of("`active` or `paused`.", "active", "paused")]
    reason: Annotated[
        str,
        one_of(
            "Why it is paused: `owner`, `failing`, `gone`, or empty.",
            "owner",
            "failing",
            "gone",
            "",
        ),
    ]
    failing_since: Annotated[
        str, Meta(description="Time since which every attempt has failed, or empty.")
    ]


class NewSubscriptionAnswer(SubscriptionItem):
    """A new subscription, with its secret, which is shown only now."""

    secret: Annotated[
        str,
        Meta(description="The secret that events are signed with; empty for a chat."),
    ]


class SubscriptionsAnswer(msgspec.Struct):
    """All subscriptions that the key may see."""

    subscriptions: Annotated[
        list[SubscriptionItem], Meta(description="The subscriptions, oldest first.")
    ]


class DeletedSubscription(msgspec.Struct):
    """A subscription that is no more."""

    subscription_id: SubscriptionId


class TestOfSubscription(msgspec.Struct, forbid_unknown_fields=True):
    """The type of the test event."""

    type: Annotated[
        str | UnsetType,
        Meta(description="A type of the subscription. Default: the first one."),
    ] = UNSET


class ResendFrom(msgspec.Struct, forbid_unknown_fields=True):
    """From where to send again."""

    after: Annotated[
        str,
        Meta(
            max_length=100,
            description=(
                "A cursor, or the id of an event. Empty: from the oldest stored event."
            ),
        ),
    ]


class EventDelivery(msgspec.Struct):
    """A delivery of an event, with its attempts, oldest first."""

    delivery_id: Annotated[
        str, Meta(description="The event's id, sent as `webhook-id` at every attempt.")
    ]
    type: Annotated[str, Meta(description="The type of the event; see Events.")]
    body: Annotated[str, Meta(description="The body that is sent: JSON.")]
    test: Annotated[bool, Meta(description="Whether this is a test event.")]
    created: Created
    status: Annotated[
        str,
        one_of("`pending`, `delivered` or `failed`.", "pending", "delivered", "failed"),
    ]
    next_attempt: Annotated[
        str, Meta(description="When the next attempt is due, or empty.")
    ]
    attempts: Annotated[
        list[AttemptItem], Meta(description="The attempts, oldest first.")
    ]


class EventDeliveriesAnswer(msgspec.Struct):
    """What a subscription was sent, newest first."""

    subscription: Annotated[SubscriptionItem, Meta(description="The subscription.")]
    deliveries: Annotated[
        list[EventDelivery], Meta(description="The deliveries, newest first.")
    ]
    next_cursor: Annotated[
        int, Meta(description="`cursor` of the next page; 0 on the last.")
    ]
    has_more: HasMore = False


class SubscriptionSecret(msgspec.Struct):
    """The new secret, and the time until which the old one also signs."""

    subscription_id: SubscriptionId
    secret: Annotated[str, Meta(description="The new secret.")]
    old_secret_signs_until: Annotated[
        str, time("Time until which the old secret also signs events")
    ]
