"""Where the gateway's listeners are, and what they allow."""

from collections.abc import Mapping
from ipaddress import ip_network
from typing import Final

from leyden.nodes.gateway.routes import Listener
from leyden.values import Struct

HIGHEST: Final = 2**31 - 1  # that Envoy takes
# Where the kernel has a program call from that calls this machine and binds nothing.
OWN_ADDRESSES: Final = ("127.0.0.1/32", "::1/128")


class ListenerOptions(Struct, frozen=True, kw_only=True):
    """Where the listeners are and what they allow."""

    host: str = "127.0.0.1"
    ports: Mapping[Listener, int]
    # Load balancers that tell the caller's address by a PROXY preamble. With any, all
    # connections must come through one of them.
    balancers: tuple[str, ...] = ()
    connections_per_source: int = 200  # to all nodes together
    connections_per_node: int = 1_000  # through both listeners together
    peer_connections_per_node: int = 500
    peer_connections_per_source: int = 10  # to one node
    peer_arrivals_per_source: int = 20  # a second, to all nodes together
    peer_arrivals_per_node: int = 50  # a second, of those that each source may make
    # Peers at these addresses count for no source: they are our nodes, all behind one.
    own_addresses: tuple[str, ...] = OWN_ADDRESSES
    # A ClientHello of a slow phone may take two round trips, each lost once.
    hello_timeout_s: int = 3
    # A subscription to a quiet node says nothing for hours; keepalive finds dead peers.
    idle_timeout_s: int = 86_400

    def __post_init__(self) -> None:
        """Raise ValueError for what Envoy would refuse, and for too wide balancers."""
        if set(self.ports) != set(Listener):
            raise ValueError("each listener needs a port")
        for cap in (
            self.connections_per_source,
            self.connections_per_node,
            self.peer_connections_per_node,
            self.peer_connections_per_source,
            self.peer_arrivals_per_source,
            self.peer_arrivals_per_node,
        ):
            if not 1 <= cap <= HIGHEST:
                raise ValueError(f"{cap} is no number of connections to allow")
        for balancer in self.balancers:
            if ip_network(balancer).prefixlen == 0:
                raise ValueError("any address may not be a load balancer")
