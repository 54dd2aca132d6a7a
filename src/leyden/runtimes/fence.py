"""What nodes may reach of the network: a fence of nftables around their users.

An owner has their lnd's macaroon, so lnd calls out for them: to peers, watchtowers, a
remote signer. It must not be their way to other nodes, to the platform, its database,
or the networks that only this machine is in.

A packet of a node's user may go
1. as an answer, from the ports on which its lnd serves;
2. to the node's own address, at those ports: lnd's REST calls its gRPC;
3. through an opening: the chain backend, the resolver, what the operator names;
4. to public addresses, but for this machine's own and those the operator closed.

The fence hangs on the users and on nothing else. Packets that the kernel itself sends,
resets say, have no user: a rule that says who may pass instead of who is fenced stops
them, and refused connections then hang.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Final

from leyden.domain.addresses import (
    NAT64,
    PUBLIC_V6,
    SPECIAL_V4,
    SPECIAL_V6,
    Network,
)
from leyden.errors import SetupError
from leyden.runtimes.seats import Seats
from leyden.values import Struct

PREFIX: Final = "leyden_"
CHAIN: Final = "output"
_V4_BITS = 32
_MOST_COMMENT = 120
_PLAIN = re.compile(r"[A-Za-z0-9/._-]+")


class Opening(Struct, frozen=True):
    """Something that is reached by a network and a port."""

    network: Network
    port: int | None = None  # None: every port
    protocol: str = "tcp"


class Fence(Struct, frozen=True, kw_only=True):
    """The fence of one installation."""

    home: Path
    seats: Seats
    openings: tuple[Opening, ...] = ()  # to be reached although they are not public
    closed: tuple[Network, ...] = ()  # not to be reached although they are
    locked: tuple[Opening, ...] = ()  # the same, of one port: its host has others

    @property
    def table(self) -> str:
        """Name its table, as no other installation of this machine does."""
        return table_of(self.home)

    @property
    def users(self) -> tuple[int, int]:
        """Give the first and the last user who is fenced in."""
        return block_of(self.seats)

    def rules(self) -> str:
        """Write the table; put in place it replaces the one before in one step."""
        first, last = self.users
        home = str(self.home)
        # Only a home that can be named whole and plainly is ever looked for again.
        named = len(home) <= _MOST_COMMENT and _PLAIN.fullmatch(home) is not None
        comment = home if named else "/"
        return "\n".join(
            (
                f"table inet {self.table}",
                f"delete table inet {self.table}",
                f"table inet {self.table} {{",
                *_chain("refuse", ["counter reject with icmpx admin-prohibited"]),
                *_chain("own", self._own()),
                *_chain("fence", self._fence()),
                f"chain {CHAIN} {{",
                "  type filter hook output priority filter; policy accept;",
                f'  meta skuid {first}-{last} jump fence comment "{comment}"',
                "}",
                "}\n",
            )
        )

    def _fence(self) -> Iterator[str]:
        serves = f"{{ {self.seats.rest_port}, {self.seats.grpc_port} }}"
        # Nothing begins with such a packet. Asking for the flags and not for the state
        # of the connection does without conntrack, which may be off for loopback.
        yield f"tcp sport {serves} tcp flags & (syn | ack) != syn accept"
        yield f"ip daddr {self.seats.network} tcp dport {serves} goto own"
        for opening in self.openings:
            yield f"{_to(opening.network)} {_at(opening)} accept"
        yield from _refuse(self.closed)
        for opening in self.locked:
            yield f"{_to(opening.network)} {_at(opening)} goto refuse"
        # To each address of this machine, the public ones too, the way is this.
        yield 'oifname "lo" goto refuse'
        yield from _refuse(SPECIAL_V4)
        yield from _refuse(SPECIAL_V6)
        yield from _refuse(_inside_nat64(SPECIAL_V4))
        yield f"ip6 daddr != {{ {PUBLIC_V6}, {NAT64} }} goto refuse"

    def _own(self) -> Iterator[str]:
        """Compare user and address bit by bit: the slot is the same number in both.

        A set of all pairs says it as well, but takes nft a second at each use.
        """
        for bit in range(_V4_BITS - self.seats.network.prefixlen):
            mask = 1 << bit
            for user, address in ((mask, 0), (0, mask)):
                yield (
                    f"meta skuid & {mask:#x} == {user:#x} "
                    f"ip daddr & {_dotted(mask)} == {_dotted(address)} goto refuse"
                )
        yield "accept"


def table_of(home: Path) -> str:
    """Name the table of an installation."""
    return PREFIX + hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:12]


def block_of(seats: Seats) -> tuple[int, int]:
    """Give the first and the last of the users that nodes run as.

    The block begins at a multiple of its size, so that a user's last bits are a slot.
    """
    size = seats.network.num_addresses
    if seats.first_uid is None:
        raise SetupError("without users of their own, nodes cannot be fenced in")
    if seats.first_uid % size:
        raise SetupError(
            f"nodes_first_uid: must be a multiple of {size}, the size of "
            "nodes_addresses, so that nodes can be fenced in; or set nodes_fence to off"
        )
    return seats.first_uid, seats.first_uid + size - 1


def _chain(name: str, rules: Iterable[str]) -> Iterator[str]:
    yield f"chain {name} {{"
    for rule in rules:
        yield f"  {rule}"
    yield "}"


def _refuse(networks: Iterable[Network]) -> Iterator[str]:
    for kind, family in ((IPv4Network, "ip"), (IPv6Network, "ip6")):
        those = ", ".join(str(each) for each in networks if isinstance(each, kind))
        if those:
            yield f"{family} daddr {{ {those} }} goto refuse"


def _inside_nat64(networks: Iterable[IPv4Network]) -> list[IPv6Network]:
    base = int(NAT64.network_address)
    return [
        IPv6Network((base | int(each.network_address), 96 + each.prefixlen))
        for each in networks
    ]


def _to(network: Network) -> str:
    return f"{'ip' if network.version == 4 else 'ip6'} daddr {network}"  # noqa: PLR2004


def _at(opening: Opening) -> str:
    if opening.port is None:
        return f"meta l4proto {opening.protocol}"
    return f"{opening.protocol} dport {opening.port}"


def _dotted(mask: int) -> str:
    return ".".join(str(byte) for byte in mask.to_bytes(4))
