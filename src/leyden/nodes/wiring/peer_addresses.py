"""Where peers reach nodes and how often, from the settings."""

import re
from ipaddress import ip_address, ip_network

from leyden.base.rules.addresses import Network
from leyden.base.settings import Settings
from leyden.errors import Malformed, SetupError
from leyden.events.wiring.dispatcher import networks
from leyden.nodes.gateway.listener_options import OWN_ADDRESSES
from leyden.nodes.rules import peer_ports
from leyden.nodes.rules.peer_ports import PeerPorts
from leyden.nodes.runtimes.local.arrivals import Arrivals, PortLimits
from leyden.nodes.wiring import hosts

_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


def ports(settings: Settings) -> PeerPorts:
    """Return the ports that nodes may get for their peers; none without addresses."""
    try:
        found = peer_ports.parse(settings.peer_ports)
    except Malformed as error:
        raise SetupError(f"peer_ports: {error.message}") from None
    if found and not settings.runs_here and not settings.peer_host:
        raise SetupError(
            "peer_host: must be set, since peer_ports is and runtime is kubernetes: "
            "name the load balancer of the gateways"
        )
    for name in ("gateway_rest_port", "gateway_grpc_port", "api_port", "acme_port"):
        if (port := getattr(settings, name)) in found:
            raise SetupError(f"peer_ports: {port} is {name}")
    return found


def host(settings: Settings) -> str:
    """Return the public host that nodes announce; "" where peers reach none."""
    if not ports(settings):
        return ""
    named = (settings.peer_host or settings.gateway_host).strip("[]")
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
            f'gateway_host = "{named}" is not public'
        )
    return str(address)


def not_limited(settings: Settings) -> tuple[str, ...]:
    """Return whose peers the gateway does not limit by source, our nodes first."""
    every = (*_own(settings), *_unlimited(settings))
    return tuple(dict.fromkeys(str(each) for each in every))


def arrivals(settings: Settings) -> Arrivals | None:
    """Return how often connections may begin; None where gateways are elsewhere."""
    if not settings.gateway_here:
        return None
    # Everybody comes from a balancer's address: the gateway is told whose it was.
    balancers = tuple(networks("gateway_balancers", settings.gateway_balancers))
    called = (settings.gateway_rest_port, settings.gateway_grpc_port)
    callers = PortLimits(
        name="callers",
        ports=tuple((port, port) for port in called),
        per_source=settings.gateway_arrivals_per_source,
        unlimited=balancers,
    )
    peers = PortLimits(
        name="peers",
        ports=ports(settings).ranges,
        per_source=settings.gateway_peer_arrivals_per_source,
        per_port=settings.gateway_peer_arrivals_per_node,
        unlimited=(*balancers, *_unlimited(settings)),
    )
    return Arrivals(
        callers=callers, peers=peers if peers.ports else None, own=tuple(_own(settings))
    )


def _own(settings: Settings) -> list[Network]:
    """Return where our nodes call from: this machine's address that they call."""
    found = [ip_network(each) for each in OWN_ADDRESSES]
    return list(dict.fromkeys((*found, *hosts.resolved(host(settings)))))


def _unlimited(settings: Settings) -> list[Network]:
    return networks("gateway_peers_unlimited", settings.gateway_peers_unlimited)
