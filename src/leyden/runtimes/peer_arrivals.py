"""How often peers may begin connections to nodes: rules of nftables.

The gateway counts who is connected, and refuses those over the limit (see
gateway/connection_limits.c), but each has been accepted by then. Here a packet that
would begin a connection is dropped before anybody hears of it: by the address it comes
from, and by the port it is for. A peer who waits for its turn sends it again.

Dropped, not refused: an answer to each would double a flood, and could be sent to
somebody whose address was forged. Nothing of connection tracking is asked for: it would
be on for all of this machine then, and its own table can be filled by a flood.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from leyden.domain.addresses import Network
from leyden.values import Struct

AHEAD_S: Final = 10  # so many seconds' worth may come at once, as in the gateway
_REMEMBERED: Final = "flags dynamic, timeout; timeout 1m; size 65536;"
_BEGINS: Final = "tcp flags & (fin | syn | rst | ack) == syn"
# An IPv6 customer has a /64 and more of its own.
_SOURCES: Final = (
    ("callers4", "ipv4_addr", "ip saddr"),
    ("callers6", "ipv6_addr", "ip6 saddr & ffff:ffff:ffff:ffff::"),
)


class PeerArrivals(Struct, frozen=True, kw_only=True):
    """How many connections may begin in a second, and whose are not counted."""

    ports: tuple[tuple[int, int], ...]  # ranges, with both ends
    per_source: int
    per_node: int
    own: tuple[Network, ...] = ()  # this machine's: nodes are told apart as they leave
    unlimited: tuple[Network, ...] = ()  # by source; by node all are counted

    def chains(self) -> Iterator[str]:
        """Return sets and chains for the table of the egress policy."""
        kinds = [(name, kind) for name, kind, _ in _SOURCES]
        for name, kind in (*kinds, ("called", "inet_service")):
            yield f"set {name} {{ type {kind}; {_REMEMBERED} }}"
        yield f"set nodes_calling {{ typeof meta skuid; {_REMEMBERED} }}"
        yield from chain("by_node", [_over("called", "tcp dport", self.per_node)])
        yield from chain("callers", self._by_source())
        yield from chain(
            "arrivals",
            [
                "type filter hook input priority filter; policy accept;",
                f"{self._begins()} jump callers",
            ],
        )
        yield from chain(
            "departures", [_over("nodes_calling", "meta skuid", self.per_source)]
        )

    def departing(self) -> str:
        """Return the rule for packets of nodes: their users are their sources."""
        return f"{self._begins()} jump departures"

    def _begins(self) -> str:
        ports = ", ".join(
            f"{first}-{last}" if first < last else f"{first}"
            for first, last in self.ports
        )
        return f"tcp dport {{ {ports} }} {_BEGINS}"

    def _by_source(self) -> Iterator[str]:
        for where, networks in (('iifname "lo" ', self.own), ("", self.unlimited)):
            for family, version in (("ip", 4), ("ip6", 6)):
                those = ", ".join(str(n) for n in networks if n.version == version)
                if those:
                    yield f"{where}{family} saddr {{ {those} }} goto by_node"
        for name, _, source in _SOURCES:
            yield _over(name, source, self.per_source)
        yield "goto by_node"


def _over(known: str, key: str, rate: int) -> str:
    limit = f"limit rate over {rate}/second burst {rate * AHEAD_S} packets"
    return f"update @{known} {{ {key} {limit} }} counter drop"


def chain(name: str, rules: Iterable[str]) -> Iterator[str]:
    """Return a chain of a table."""
    yield f"chain {name} {{"
    for rule in rules:
        yield f"  {rule}"
    yield "}"
