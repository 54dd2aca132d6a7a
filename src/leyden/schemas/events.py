"""Request and response schemas of the event log."""

from typing import Annotated

import msgspec
from msgspec import Meta

EventId = Annotated[
    str,
    Meta(description="The event's id: receivers know by it what they have seen."),
]


class EventsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which events to return."""

    after: Annotated[
        str,
        Meta(
            description="The `cursor` of the last answer, or the id of an event; "
            "`latest` for what happens from now on. Default: the oldest event kept."
        ),
    ] = ""
    type: Annotated[
        str,
        Meta(
            description="Types, with commas between; `order.*` is all of orders. "
            "Default: all that the key may see."
        ),
    ] = ""
    limit: Annotated[
        int, Meta(ge=1, le=100, description="The most events to return.")
    ] = 100
    wait: Annotated[
        int,
        Meta(ge=0, le=60, description="Seconds to wait if there is no event yet."),
    ] = 0


class LoggedEvent(msgspec.Struct):
    """An event: what happened, in ids and facts."""

    id: EventId
    type: Annotated[str, Meta(description="What happened; see Events.")]
    created: Annotated[str, Meta(description="When it happened, in ISO 8601 and UTC.")]
    organization_id: Annotated[str, Meta(description="Your organization's id.")]
    data: Annotated[
        dict[str, str | int | list[str]],
        Meta(description="Ids and facts; see Events for the fields of each type."),
    ]


class EventsAnswer(msgspec.Struct):
    """Events, oldest first, and the cursor to go on from."""

    events: Annotated[list[LoggedEvent], Meta(description="The events, oldest first.")]
    cursor: Annotated[
        str, Meta(description="`after` of the next request; keep it with your data.")
    ]
    has_more: Annotated[
        bool, Meta(description="Whether the next request is to be made at once.")
    ]


facts = msgspec.json.Decoder(dict[str, str | int | list[str]]).decode
"""Read the `data` of an event as it is stored."""
