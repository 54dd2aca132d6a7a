"""Kinds of fields that many requests and responses share, with their descriptions."""

from datetime import datetime
from typing import Annotated, Literal, get_args

from msgspec import Meta, UnsetType

NodeStatus = Literal[
    "provisioning",
    "starting",
    "waiting_init",
    "waiting_unlock",
    "running",
    "stopping",
    "stopped",
    "restarting",
    "updating",
    "failed",
    "deleting",
]
OrderStatus = Literal[
    "waiting_payment",
    "expired",
    "creating",
    "created",
    "submitted",
    "filled",
    "failed",
    "cancelled",
]


def one_of(description: str, *values: str) -> Meta:
    """Describe text that has one of these values.

    Answers are typed as text, so that a client of an older version reads a value that
    it does not know.
    """
    return Meta(description=description, extra_json_schema={"enum": [*values]})


def time(description: str) -> Meta:
    """Describe a time."""
    return Meta(
        description=f"{description}, in ISO 8601 and UTC.",
        extra_json_schema={"format": "date-time"},
    )


ShownNodeStatus = Annotated[
    str, one_of("The status of lnd; see Node statuses.", *get_args(NodeStatus))
]
ShownOrderStatus = Annotated[
    str, one_of("The status of the order; see Order statuses.", *get_args(OrderStatus))
]
NodeType = Annotated[
    str, one_of("`standard` or `professional`.", "standard", "professional")
]
PurchasedType = Annotated[
    str, one_of("`paid`, `ondemand` or `trial`.", "paid", "ondemand", "trial")
]
Cursor = Annotated[
    str, Meta(max_length=100, description="`next_cursor` of the last page.")
]
FilteredNodeId = Annotated[str, Meta(pattern="^[0-9a-f-]{36}N$")]
FilteredOrderId = Annotated[str, Meta(pattern="^[0-9a-f-]{36}FO$")]
HasMore = Annotated[bool, Meta(description="Whether there is another page.")]
CreatedAfter = Annotated[
    Annotated[datetime, Meta(tz=True)] | UnsetType,
    Meta(description="Only what was created at this time or later, in ISO 8601."),
]
CreatedBefore = Annotated[
    Annotated[datetime, Meta(tz=True)] | UnsetType,
    Meta(description="Only what was created before this time, in ISO 8601."),
]

NodeId = Annotated[str, Meta(description="The node's id: a UUID and the letter N.")]
NodeName = Annotated[
    str, Meta(description="The node's name, unique in your organization.")
]
OrderId = Annotated[str, Meta(description="The order's id: a UUID and the letters FO.")]
Network = Annotated[str, one_of("`mainnet` or `testnet`.", "mainnet", "testnet")]
Created = Annotated[str, time("When it was created")]
Time = Annotated[str, time("When it happened")]
Endpoint = Annotated[
    str, Meta(description="The node's public host name, for REST and gRPC.")
]
PeerAddress = Annotated[
    str,
    Meta(
        description=(
            "HOST:PORT where other nodes reach this node; empty if they can't. See the "
            "setting `listen`."
        )
    ),
]
OnionAddress = Annotated[
    str,
    Meta(
        description=(
            "HOST:PORT where other nodes reach this node over Tor; empty without "
            "`peer_address`, or if the platform has no Tor."
        )
    ),
]
ServiceVersion = Annotated[str, Meta(description="The platform's own version.")]
LndVersion = Annotated[str, Meta(description="A version of lnd, like `v0.20.2-beta`.")]
Certificate = Annotated[
    str,
    Meta(description="The certificate chain to trust: base64 of PEM, up to the root."),
]
AllowedAddresses = Annotated[
    list[str],
    Meta(
        description="IPv4 and IPv6 addresses and CIDR blocks. "
        "Empty: nobody can reach the node."
    ),
]
Webhook = Annotated[str, Meta(description="The URL that events are sent to.")]
MacaroonName = Annotated[
    str, Meta(description="The macaroon's name, unique for the node.")
]
SealedSeed = Annotated[
    str, Meta(description="The seed as you sent it: encrypted by you.")
]
