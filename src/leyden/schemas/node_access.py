"""Request and response schemas of how nodes are reached: from where, and by what."""

from typing import Annotated

import msgspec
from msgspec import Meta

from leyden.schemas.kinds import (
    AllowedAddresses,
    Certificate,
    Endpoint,
    NodeId,
    OnionAddress,
    PeerAddress,
)
from leyden.schemas.settings_sent import Text


class NewCertificate(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Your own certificate and key as PEM, or {} for one issued by us."""

    certificate: Annotated[
        Text,
        Meta(
            description="Your certificate chain as PEM, the node's certificate first."
        ),
    ] = ""
    key: Annotated[
        Text, Meta(description="Its private key as PEM: P-256, P-384, P-521 or RSA.")
    ] = ""


class NewWhitelist(msgspec.Struct, forbid_unknown_fields=True):
    """The new allowed IP addresses; an empty list allows nobody."""

    whitelist: AllowedAddresses


class WhitelistAnswer(msgspec.Struct):
    """The allowed IP addresses, in canonical form."""

    node_id: NodeId
    whitelist: AllowedAddresses


class CertificateAnswer(msgspec.Struct):
    """The certificate to trust: base64 of a PEM chain up to the root."""

    node_id: NodeId
    tls_cert: Certificate


class ConnectAnswer(msgspec.Struct):
    """Connection details of a node; you add your own macaroon."""

    node_id: NodeId
    api_endpoint: Endpoint
    rest_url: Annotated[str, Meta(description="The URL of lnd's REST API.")]
    grpc_address: Annotated[str, Meta(description="HOST:PORT of lnd's gRPC API.")]
    tls_cert: Certificate
    lndconnect: Annotated[
        str,
        Meta(
            description=(
                "An `lndconnect://` URI without a macaroon, which only you have."
            )
        ),
    ]
    hosts_line: Annotated[
        str,
        Meta(description="A line for `/etc/hosts`, if the name does not resolve."),
    ]
    peer_address: PeerAddress
    onion_address: OnionAddress
    public_key: Annotated[
        str,
        Meta(
            description=(
                "The node's public key, as in `PUBLIC-KEY@HOST:PORT`; empty until you "
                "first unlock its wallet."
            )
        ),
    ]
