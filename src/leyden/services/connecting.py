"""How a node is reached from outside."""

import base64
from urllib.parse import quote

from leyden.domain.nodes import Node
from leyden.services.fleet import Fleet
from leyden.services.nodes import anchor, certificate, get
from leyden.values import Struct, hiding


class Way(Struct, frozen=True, kw_only=True):
    """The way to a node; whoever goes it brings a macaroon of his own."""

    node: Node
    rest_url: str
    grpc_address: str
    lndconnect: str
    hosts_line: str
    certificate: bytes  # PEM, up to the root

    __repr__ = hiding("certificate")


async def connect(fleet: Fleet, organization_id: str, node_id: str) -> Way:
    """Show the way to a node.

    `lndconnect` carries the certificate that wallets have to trust, and no macaroon.
    The hosts line is for machines whose resolver does not know the name.
    """
    # A tenth of a start.
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

    node = await get(fleet, organization_id, node_id)
    chain = await certificate(fleet, organization_id, node_id)
    doors, name = fleet.rules.doors, node.api_endpoint
    last = x509.load_pem_x509_certificates(await anchor(fleet, node))[-1]
    der = last.public_bytes(Encoding.DER)
    told = quote(base64.urlsafe_b64encode(der).decode().rstrip("="))
    return Way(
        node=node,
        rest_url=f"https://{name}:{doors.rest}",
        grpc_address=f"{name}:{doors.grpc}",
        lndconnect=f"lndconnect://{name}:{doors.grpc}?cert={told}",
        hosts_line=f"{doors.host} {name}",
        certificate=chain,
    )
