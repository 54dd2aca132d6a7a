"""Egress policies: what nodes may reach, enforced by nftables on their users.

An owner has their lnd's macaroon, so they can make lnd connect: to peers, watchtowers,
a remote signer. They must not reach other nodes that way, nor the platform, its
database, or the networks that only this machine is in.

A packet of a node's user may leave
1. as a reply, from the ports on which its lnd serves, peers among others;
2. to the node's own address, at those ports: lnd's REST calls its gRPC;
3. to an opening: the chain backend, the resolver, the peer ports of the gateway, what
   the operator lists;
4. to public addresses, except this machine's own and those the operator closed.

The policy matches users and nothing else. Packets that the kernel itself sends, such as
resets, have no user: a rule that lists who may send, instead of who is limited, would
stop them, and refused connections would hang.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Final

from leyden.base.rules.addresses import (
    NAT64,
    PUBLIC_V6,
    SPECIAL_V4,
    SPECIAL_V6,
    Network,
)
from leyden.errors import SetupError
from leyden.nodes.runtimes.local.arrivals import Arrivals, chain
from leyden.nodes.runtimes.local.placement import Placement
from leyden.values import Struct

PREFIX: Final = "leyden_"
CHAIN: Final = "output"
_V4_BITS = 32
_MAX_COMMENT = 120
_PLAIN = re.compile(r"[A-Za-z0-9/._-]+")


class AllowedDestination(Struct, frozen=True):
    """A destination that is allowed: a network and a port."""

    network: Network
    port: int | None = None  # None: every port
    protocol: str = "tcp"
    last_port: int | None = None  # of a range that begins with the port


class EgressPolicy(Struct, frozen=True, kw_only=True):
    """The egress policy of one installation."""

    home: Path
    placement: Placement
    openings: tuple[
        AllowedDestination, ...
    ] = ()  # allowed although they are not public
    closed: tuple[Network, ...] = ()  # refused although they are public
    locked: tuple[
        AllowedDestination, ...
    ] = ()  # refused, one port each: the host has other ports
    arrivals: Arrivals | None = None  # limits on new connections to nodes

    @property
    def table(self) -> str:
        """The table's name, unique among this machine's installations."""
        return table_of(self.home)

    @property
    def users(self) -> tuple[int, int]:
        """Return the first and the last user that the policy covers."""
        return block_of(self.placement)

    def rules(self) -> str:
        """Return the table's rules; loading them replaces the old ones at once."""
        first, last = self.users
        home = str(self.home)
        # The path is stored if it fits and needs no escaping. Only then can the policy
        # be found abandoned.
        named = len(home) <= _MAX_COMMENT and _PLAIN.fullmatch(home) is not None
        comment = home if named else "/"
        return "\n".join(
            (
                f"table inet {self.table}",
                f"delete table inet {self.table}",
                f"table inet {self.table} {{",
                *(self.arrivals.chains() if self.arrivals else ()),
                *chain("refuse", ["counter reject with icmpx admin-prohibited"]),
                *chain("own", self._own()),
                *chain("nodes", self._nodes()),
                f"chain {CHAIN} {{",
                "  type filter hook output priority filter; policy accept;",
                f'  meta skuid {first}-{last} jump nodes comment "{comment}"',
                "}",
                "}\n",
            )
        )

    def _nodes(self) -> Iterator[str]:
        serves = f"{{ {self.placement.rest_port}, {self.placement.grpc_port} }}"
        answers = f"{serves[:-2]}, {self.placement.peer_port} }}"
        if self.arrivals is not None:
            yield from self.arrivals.departing()
        # No connection begins with such a packet. Matching flags instead of the
        # connection's state needs no conntrack, which may be off for loopback.
        yield f"tcp sport {answers} tcp flags & (syn | ack) != syn accept"
        yield f"ip daddr {self.placement.network} tcp dport {serves} goto own"
        for opening in self.openings:
            yield f"{_to(opening.network)} {_at(opening)} accept"
        yield from _refuse([*self.closed, *_inside_nat64(self.closed)])
        for opening in self.locked:
            for network in (opening.network, *_inside_nat64([opening.network])):
                yield f"{_to(network)} {_at(opening)} goto refuse"
        # Packets to this machine's addresses leave here, the public ones too.
        yield 'oifname "lo" goto refuse'
        yield from _refuse(SPECIAL_V4)
        yield from _refuse(SPECIAL_V6)
        yield from _refuse(_inside_nat64(SPECIAL_V4))
        yield f"ip6 daddr != {{ {PUBLIC_V6}, {NAT64} }} goto refuse"

    def _own(self) -> Iterator[str]:
        """Compare user and address bit by bit: both end in the placement number.

        A set of all pairs works as well, but takes nft a second at each use.
        """
        for bit in range(_V4_BITS - self.placement.network.prefixlen):
            mask = 1 << bit
            for user, address in ((mask, 0), (0, mask)):
                yield (
                    f"meta skuid & {mask:#x} == {user:#x} "
                    f"ip daddr & {_dotted(mask)} == {_dotted(address)} goto refuse"
                )
        yield "accept"


def table_of(home: Path) -> str:
    """Return the name of an installation's table."""
    return PREFIX + hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:12]


def block_of(placement: Placement) -> tuple[int, int]:
    """Return the first and the last of the users that nodes run as.

    The block begins at a multiple of its size, so that a user's last bits are a slot.
    """
    size = placement.network.num_addresses
    if placement.first_uid is None:
        raise SetupError("without users of their own, no egress policy can hold nodes")
    if placement.first_uid % size:
        raise SetupError(
            f"nodes_first_uid: must be a multiple of {size}, the size of "
            "nodes_addresses, so that a policy can hold nodes; or set nodes_fence off"
        )
    return placement.first_uid, placement.first_uid + size - 1


def _refuse(networks: Iterable[Network]) -> Iterator[str]:
    for kind, family in ((IPv4Network, "ip"), (IPv6Network, "ip6")):
        those = ", ".join(str(each) for each in networks if isinstance(each, kind))
        if those:
            yield f"{family} daddr {{ {those} }} goto refuse"


def _inside_nat64(networks: Iterable[Network]) -> list[IPv6Network]:
    """Return the NAT64 addresses of the IPv4 networks among them."""
    base = int(NAT64.network_address)
    return [
        IPv6Network(
            (base | int(each.network_address), NAT64.prefixlen + each.prefixlen)
        )
        for each in networks
        if isinstance(each, IPv4Network)
    ]


def _to(network: Network) -> str:
    return f"{'ip' if network.version == 4 else 'ip6'} daddr {network}"  # noqa: PLR2004


def _at(opening: AllowedDestination) -> str:
    if opening.port is None:
        return f"meta l4proto {opening.protocol}"
    last = "" if opening.last_port is None else f"-{opening.last_port}"
    return f"{opening.protocol} dport {opening.port}{last}"


def _dotted(mask: int) -> str:
    return ".".join(str(byte) for byte in mask.to_bytes(4))
