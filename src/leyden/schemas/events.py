"""Request and response schemas of the event log."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.schemas.kinds import (
    CreatedAfter,
    CreatedBefore,
    FilteredNodeId,
    FilteredOrderId,
    Time,
)

EventId = Annotated[
    str,
    Meta(description="The event's id. Use it to detect duplicates."),
]


class EventsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which events to return."""

    after: Annotated[
        str,
        Meta(
            description=(
                "The `cursor` of the last response, or the id of an event; `latest` "
                "for new events only. Default: from the oldest stored event."
            )
        ),
    ] = ""
    type: Annotated[
        str,
        Meta(
            description=(
                "Types of events, comma-separated; `order.*` means all types of "
                "orders. Default: all types that the key can see."
            )
        ),
    ] = ""
    cursor: Annotated[
        str, Meta(max_length=100, description="The same as `after`; send one of them.")
    ] = ""
    node_id: Annotated[
        FilteredNodeId | UnsetType, Meta(description="Only events about this node.")
    ] = UNSET
    order_id: Annotated[
        FilteredOrderId | UnsetType, Meta(description="Only events about this order.")
    ] = UNSET
    created_after: CreatedAfter = UNSET
    created_before: CreatedBefore = UNSET
    limit: Annotated[
        int, Meta(ge=1, le=100, description="Maximum number of events to return.")
    ] = 100
    wait: Annotated[
        int,
        Meta(
            ge=0,
            le=60,
            description="Seconds to wait for an event if none is available.",
        ),
    ] = 0


class LoggedEvent(msgspec.Struct):
    """An event: what happened, in ids and facts."""

    id: EventId
    type: Annotated[str, Meta(description="What happened; see Events.")]
    created: Time
    organization_id: Annotated[str, Meta(description="Your organization's id.")]
    data: Annotated[
        dict[str, str | int | list[str]],
        Meta(description="Ids and facts; see Events for the fields of each type."),
    ]


class EventsAnswer(msgspec.Struct):
    """Events, oldest first, and the cursor to go on from."""

    events: Annotated[list[LoggedEvent], Meta(description="The events, oldest first.")]
    cursor: Annotated[
        str,
        Meta(
            description=(
                "Value of `after` for the next request; store it with your data."
            )
        ),
    ]
    has_more: Annotated[
        bool, Meta(description="Whether more events are available now.")
    ]
    next_cursor: Annotated[
        str, Meta(description="The same as `cursor`, by the name that all lists have.")
    ] = ""


facts = msgspec.json.Decoder(dict[str, str | int | list[str]]).decode
"""Read the `data` of an event as it is stored."""
