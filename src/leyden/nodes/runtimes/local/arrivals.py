"""Limits on new connections to nodes: rules of nftables.

The gateway counts who is connected, and refuses those over the limit (see
nodes/gateway/connection_limits.c), but each has been accepted by then. Here a packet
that would open a connection is dropped before any program sees it: by its source
address, and by its port. A client whose packet was dropped sends it again.

It is dropped and not rejected: a reply to each packet would double a flood, and would
go to the owner of a forged address. Connection tracking is not used: it would then be
on for the whole machine, and a flood can fill its table.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from leyden.base.rules.addresses import Network
from leyden.values import Struct

AHEAD_S: Final = 10  # a burst is this many seconds' worth, as in the gateway
_REMEMBERED: Final = "flags dynamic, timeout; timeout 1m; size 65536;"
_BEGINS: Final = "tcp flags & (fin | syn | rst | ack) == syn"
# An IPv6 customer has a /64 and more of its own.
_SOURCES: Final = (
    ("4", "ipv4_addr", "ip saddr"),
    ("6", "ipv6_addr", "ip6 saddr & ffff:ffff:ffff:ffff::"),
)


class PortLimits(Struct, frozen=True, kw_only=True):
    """Ports of the gateway, with limits on new connections per second."""

    name: str
    ports: tuple[tuple[int, int], ...]  # ranges, with both ends
    per_source: int
    per_port: int | None = None
    unlimited: tuple[
        Network, ...
    ] = ()  # per source; the limit of a port counts all sources

    @property
    def begins(self) -> str:
        """The match for packets that open a connection there."""
        ports = ", ".join(
            f"{first}-{last}" if first < last else f"{first}"
            for first, last in self.ports
        )
        return f"tcp dport {{ {ports} }} {_BEGINS}"

    def chains(self, own: tuple[Network, ...]) -> Iterator[str]:
        """Return the sets and chains for incoming connections."""
        for suffix, kind, _ in _SOURCES:
            yield _set(f"{self.name}{suffix}", f"type {kind};")
        yield _set(f"{self.name}_ports", "type inet_service;")
        by_port = [] if self.per_port is None else [self._by_port(self.per_port)]
        yield from chain(f"{self.name}_by_port", by_port)
        yield from chain(self.name, self._by_source(own))

    def _by_port(self, rate: int) -> str:
        return _over(f"{self.name}_ports", "tcp dport", rate)

    def _by_source(self, own: tuple[Network, ...]) -> Iterator[str]:
        by_port = f"goto {self.name}_by_port"
        for where, networks in (('iifname "lo" ', own), ("", self.unlimited)):
            for family, version in (("ip", 4), ("ip6", 6)):
                those = ", ".join(str(n) for n in networks if n.version == version)
                if those:
                    yield f"{where}{family} saddr {{ {those} }} {by_port}"
        for suffix, _, source in _SOURCES:
            yield _over(f"{self.name}{suffix}", source, self.per_source)
        yield by_port


class Arrivals(Struct, frozen=True, kw_only=True):
    """Limits on new connections to nodes, by port."""

    callers: PortLimits
    peers: PortLimits | None = None
    own: tuple[
        Network, ...
    ] = ()  # this machine's: its nodes are limited by user, as packets leave

    def chains(self) -> Iterator[str]:
        """Return sets and chains for the table of the egress policy."""
        limits = [self.callers, *([self.peers] if self.peers else [])]
        for ports in limits:
            yield from ports.chains(self.own)
        jumps = [f"{ports.begins} jump {ports.name}" for ports in limits]
        base = "type filter hook input priority filter; policy accept;"
        yield from chain("arrivals", [base, *jumps])
        if self.peers is not None:
            yield _set("nodes_calling", "typeof meta skuid;")
            limit = _over("nodes_calling", "meta skuid", self.peers.per_source)
            yield from chain("departures", [limit])

    def departing(self) -> Iterator[str]:
        """Return the rule for packets of nodes, which are limited by their user."""
        if self.peers is not None:
            yield f"{self.peers.begins} jump departures"


def chain(name: str, rules: Iterable[str]) -> Iterator[str]:
    """Return a chain of a table."""
    yield f"chain {name} {{"
    for rule in rules:
        yield f"  {rule}"
    yield "}"


def _set(name: str, kind: str) -> str:
    return f"set {name} {{ {kind} {_REMEMBERED} }}"


def _over(known: str, key: str, rate: int) -> str:
    limit = f"limit rate over {rate}/second burst {rate * AHEAD_S} packets"
    return f"update @{known} {{ {key} {limit} }} counter drop"
