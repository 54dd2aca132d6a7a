"""Where peers reach nodes, from the settings."""

import re
from ipaddress import ip_address

from leyden.domain import peer_ports
from leyden.domain.peer_ports import PeerPorts
from leyden.errors import Malformed, SetupError
from leyden.settings import Settings

_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


def ports(given: Settings) -> PeerPorts:
    """Return the ports that nodes may get for their peers; none without addresses."""
    try:
        found = peer_ports.parse(given.peer_ports)
    except Malformed as error:
        raise SetupError(f"peer_ports: {error.message}") from None
    if found and given.runtime == "kubernetes" and not given.peer_host:
        raise SetupError(
            "peer_host: must be set, since peer_ports is and runtime is kubernetes: "
            "name the load balancer of the gateways"
        )
    for name in ("gateway_rest_port", "gateway_grpc_port", "api_port", "acme_port"):
        if (port := getattr(given, name)) in found:
            raise SetupError(f"peer_ports: {port} is {name}")
    return found


def host(given: Settings) -> str:
    """Return the public host that nodes announce; "" where peers reach none."""
    if not ports(given):
        return ""
    named = (given.peer_host or given.gateway_host).strip("[]")
    try:
        address = ip_address(named)
    except ValueError:
        if not _NAME.fullmatch(named):
            raise SetupError(
                f"peer_host: {named!r} is not a host name or an IP address"
            ) from None
        return named
    if address.is_unspecified:
        raise SetupError(
            "peer_host: name the public host or address that peers connect to; "
            f'gateway_host = "{named}" is none'
        )
    return str(address)
