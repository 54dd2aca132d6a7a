"""Connection details of a node."""

import base64
from urllib.parse import quote

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from leyden.nodes.fleet import Fleet
from leyden.nodes.rules.nodes import Node
from leyden.nodes.views import get, trusted_by_clients, up_to_root
from leyden.values import Struct, hiding


class ConnectionDetails(Struct, frozen=True, kw_only=True):
    """The connection details of a node; clients bring their own macaroon."""

    node: Node
    rest_url: str
    grpc_address: str
    lndconnect: str
    hosts_line: str
    peer_address: str  # "" if peers may not reach it
    onion_address: str  # "" without Tor
    public_key: str  # "" until lnd has written it down here
    certificate: bytes  # PEM, up to the root
    thumbprint: str  # of what signed the node's certificate; "" if known to everybody

    __repr__ = hiding("certificate")


async def connect(
    fleet: Fleet, organization_id: str, node_id: str
) -> ConnectionDetails:
    """Return a node's connection details.

    `lndconnect` contains the certificate that wallets have to trust, and no
    macaroon. The hosts line is for machines whose resolver does not know the
    name.
    """
    node = await get(fleet, organization_id, node_id)
    ports, name = fleet.rules.ports, node.api_endpoint
    served = (await fleet.database.reader.launch_specs.get(node.id)).certificate
    last = x509.load_pem_x509_certificates(up_to_root(fleet, served))[-1]
    der = last.public_bytes(Encoding.DER)
    certificate = quote(base64.urlsafe_b64encode(der).decode().rstrip("="))
    return ConnectionDetails(
        node=node,
        rest_url=f"https://{name}:{ports.rest}",
        grpc_address=f"{name}:{ports.grpc}",
        lndconnect=f"lndconnect://{name}:{ports.grpc}?cert={certificate}",
        hosts_line=f"{ports.host} {name}",
        peer_address=fleet.rules.peer_address(node.open_peer_port),
        onion_address=fleet.rules.onion_address(node.onion, node.open_peer_port),
        public_key=await fleet.database.reader.node_keys.find(node.id),
        certificate=await trusted_by_clients(fleet, node, served),
        thumbprint=_signer(served) if fleet.authority.issued(served) else "",
    )


def _signer(served: bytes) -> str:
    """Return the SHA-256 of the last certificate that the node itself shows."""
    return x509.load_pem_x509_certificates(served)[-1].fingerprint(SHA256()).hex()
