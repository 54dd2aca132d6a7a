"""Which name leads to which node, and for whom; pure.

A route is what is wanted for one node. From it follow its passages: through which door,
by which names, from which sources, to where. A node with an empty whitelist has none,
so nobody gets in.

A connection ends with the passage it came through. That is why each whitelist entry
has a passage of its own: taking one away cuts who came in by it and nobody else. A
whitelist longer than `APART` entries shares that many passages, because each costs the
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


class Door(StrEnum):
    """The public ports; each one serves all nodes."""

    REST = auto()
    GRPC = auto()


class Address(NamedTuple):
    """Where an lnd listens: an address, never a name that somebody could repoint."""

    host: str
    port: int

    def __str__(self) -> str:
        """Write it as `192.0.2.1:8080` or `[2001:db8::1]:8080`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Route(Struct, frozen=True, kw_only=True):
    """What is wanted for one node; refuses what no gateway could carry out."""

    node_id: str
    name: str  # the node's api_endpoint
    whitelist: tuple[str, ...]  # canonical, see domain/whitelist.py; empty is nobody
    rest: Address | None  # None: switched off
    grpc: Address | None

    def __post_init__(self) -> None:
        """Look at everything once, so that nothing wrong ever reaches the gateway."""
        name = _canonical(self.name)
        # Above all no `*`: to a gateway that is every name there is.
        if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
            raise ValueError(f"{self.name!r} is not a host name")
        for address in (self.rest, self.grpc):
            if address is not None:
                ip_address(address.host)
                if not 1 <= address.port <= _HIGHEST_PORT:
                    raise ValueError(f"{address.port} is not a port")

    def to(self, door: Door) -> Address | None:
        """Say where a door leads."""
        return self.rest if door is Door.REST else self.grpc


class Passage(Struct, frozen=True, kw_only=True):
    """One way in: what a gateway knows as one filter chain."""

    node_id: str
    label: str  # which one of the node's; stays the same while its sources do
    names: tuple[str, ...]
    sources: tuple[str, ...]
    to: Address


def passages(route: Route, door: Door) -> tuple[Passage, ...]:
    """Give the ways in to a node through one door, always in the same order."""
    to = route.to(door)
    if to is None:
        return ()
    name = _canonical(route.name)
    return tuple(
        Passage(
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
    """Put the routes in order; refuses two nodes with one name."""
    ordered = sorted(routes, key=lambda route: route.node_id)
    holders: dict[str, str] = {}
    for route in ordered:
        first = holders.setdefault(_canonical(route.name), route.node_id)
        if first != route.node_id:
            both = f"{first} and {route.node_id}"
            raise ValueError(f"{route.name} is the name of both {both}")
    if len({route.node_id for route in ordered}) != len(ordered):
        raise ValueError("a node has more than one route")
    return tuple(ordered)


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
