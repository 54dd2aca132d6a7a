"""Kinds of fields that many requests and responses share, with their descriptions."""

from typing import Annotated

from msgspec import Meta

NodeId = Annotated[str, Meta(description="The node's id: a UUID and the letter N.")]
NodeName = Annotated[
    str, Meta(description="The node's name, unique in your organization.")
]
OrderId = Annotated[str, Meta(description="The order's id: a UUID and the letters FO.")]
Network = Annotated[str, Meta(description="`mainnet` or `testnet`.")]
Created = Annotated[str, Meta(description="When it was created, in ISO 8601 and UTC.")]
Time = Annotated[str, Meta(description="When it happened, in ISO 8601 and UTC.")]
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
