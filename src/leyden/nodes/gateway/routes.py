"""Routes: which names and sources lead to which node; pure functions.

A route is what is wanted for one node. From it follow its filter chains: through which
listener, by which names, from which sources, to where. A node with an empty whitelist
has none, so nobody gets in.

A connection ends with the filter chain it came through. That is why each whitelist
entry has a chain of its own: taking one away cuts who came in by it and nobody else. A
whitelist longer than `APART` entries shares that many chains, because each costs the
gateway a quarter of a millisecond an update; then a removal also cuts one in sixteen of
the others, who can come in again at once.
"""

import hashlib
import re
from collections.abc import Iterable
from enum import StrEnum, auto
from ipaddress import ip_address
from typing import NamedTuple

from leyden.values import Struct

APART = 16
_HIGHEST_PORT = 65_535
_LONGEST_NAME = 253
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")


class Listener(StrEnum):
    """A public port; each one serves all nodes."""

    REST = auto()
    GRPC = auto()


class UpstreamAddress(NamedTuple):
    """The address of an lnd: an IP, never a name that could be repointed."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `192.0.2.1:8080` or `[2001:db8::1]:8080`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class PeerPort(Struct, frozen=True):
    """A public port of one node: its peers connect without TLS, so without a name."""

    port: int
    to: UpstreamAddress

    def listener(self, node_id: str) -> str:
        """Return the listener's name, which contains port and node id."""
        return f"peers {self.port} {node_id}"


class Route(Struct, frozen=True, kw_only=True):
    """The desired access to one node; rejects what no gateway could do."""

    node_id: str
    name: str  # the node's api_endpoint
    whitelist: tuple[
        str, ...
    ]  # canonical, see nodes/rules/whitelist.py; empty is nobody
    rest: UpstreamAddress | None  # None: switched off
    grpc: UpstreamAddress | None
    peers: PeerPort | None = None  # None: no peer may connect

    def __post_init__(self) -> None:
        """Validate everything once, so that nothing wrong ever reaches the gateway."""
        name = _canonical(self.name)
        # Above all no `*`: to a gateway that is every name there is.
        if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
            raise ValueError(f"{self.name!r} is not a host name")
        peers = None if self.peers is None else self.peers.to
        for address in (self.rest, self.grpc, peers):
            if address is not None:
                ip_address(address.host)
                _check_port(address.port)
        if self.peers is not None:
            _check_port(self.peers.port)

    def to(self, listener: Listener) -> UpstreamAddress | None:
        """Return the address that a listener leads to."""
        return self.rest if listener is Listener.REST else self.grpc


class FilterChain(Struct, frozen=True, kw_only=True):
    """A filter chain in the gateway: one way to a node."""

    node_id: str
    label: str  # which one of the node's; stays the same while its sources do
    names: tuple[str, ...]
    sources: tuple[str, ...]
    to: UpstreamAddress


def filter_chains(route: Route, listener: Listener) -> tuple[FilterChain, ...]:
    """Return a node's filter chains in one listener, always in the same order."""
    to = route.to(listener)
    if to is None:
        return ()
    name = _canonical(route.name)
    return tuple(
        FilterChain(
            node_id=route.node_id,
            label=label,
            # A name in a ClientHello has no dot at its end, but clients send what
            # their users type.
            names=(name, f"{name}."),
            sources=sources,
            to=to,
        )
        for label, sources in _apart(route.whitelist)
    )


def table(routes: Iterable[Route]) -> tuple[Route, ...]:
    """Sort the routes; raise ValueError for two nodes with one name or peer port."""
    ordered = sorted(routes, key=lambda route: route.node_id)
    holders: dict[str | int, str] = {}
    for route in ordered:
        ports = () if route.peers is None else (route.peers.port,)
        for each in (_canonical(route.name), *ports):
            first = holders.setdefault(each, route.node_id)
            if first != route.node_id:
                both = f"{first} and {route.node_id}"
                what = "name" if isinstance(each, str) else "peer port"
                raise ValueError(f"{each} is the {what} of both {both}")
    if len({route.node_id for route in ordered}) != len(ordered):
        raise ValueError("a node has more than one route")
    return tuple(ordered)


def _check_port(port: int) -> None:
    if not 1 <= port <= _HIGHEST_PORT:
        raise ValueError(f"{port} is not a port")


def _canonical(name: str) -> str:
    return name.lower().removesuffix(".")


def _apart(whitelist: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    entries = sorted(set(whitelist))
    if len(entries) <= APART:
        return [(entry, (entry,)) for entry in entries]
    # By what an entry is, not by its place: then a change moves no other one.
    shared: dict[int, list[str]] = {}
    for entry in entries:
        group = hashlib.sha256(entry.encode()).digest()[0] % APART
        shared.setdefault(group, []).append(entry)
    return [(f"group {group}", tuple(shared[group])) for group in sorted(shared)]
