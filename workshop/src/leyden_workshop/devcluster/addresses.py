"""The addresses of one cluster: a /16 that overlaps no route of this host.

10.N.0.0/24     control plane (.1), machines (.11, .12, ...), this host (.254)
10.N.64.0/18    services; the first is the API
10.N.128.0/17   pods: a /24 for each machine
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

from leyden.errors import SetupError
from leyden.values import Struct

MAX_MACHINES: Final = 9
# Rarely used: clouds and offices prefer low numbers.
_CANDIDATES: Final = range(200, 255)
_FIRST_MACHINE: Final = 10
_ROUTES: Final = Path("/proc/net/route")


class Block(Struct, frozen=True):
    """The addresses of one cluster."""

    number: int

    @property
    def network(self) -> IPv4Network:
        """The whole network."""
        return IPv4Network(f"10.{self.number}.0.0/16")

    @property
    def machines(self) -> IPv4Network:
        """The network of machines, control plane and host."""
        return IPv4Network(f"10.{self.number}.0.0/24")

    @property
    def control_plane(self) -> IPv4Address:
        """The address of the API server."""
        return self.machines[1]

    @property
    def host(self) -> IPv4Address:
        """The address of this host for pods."""
        return self.machines[254]

    @property
    def services(self) -> IPv4Network:
        """The network of services."""
        return IPv4Network(f"10.{self.number}.64.0/18")

    @property
    def pods(self) -> IPv4Network:
        """The network of all pods."""
        return IPv4Network(f"10.{self.number}.128.0/17")

    def machine(self, number: int) -> IPv4Address:
        """Return the address of a machine; the first is 1."""
        return self.machines[_FIRST_MACHINE + number]

    def pods_of(self, number: int) -> IPv4Network:
        """Return the network of a machine's pods."""
        return IPv4Network(f"10.{self.number}.{128 + number}.0/24")


def routed(table: str | None = None) -> list[IPv4Network]:
    """Return the networks that this host has routes to, according to the kernel.

    Wider networks, such as a default route, are left out: our routes are more specific
    and take precedence.
    """
    lines = (_ROUTES.read_text() if table is None else table).splitlines()[1:]
    found = []
    for line in lines:
        words = line.split()
        network = IPv4Network((_address(words[1]), str(_address(words[7]))))
        if network.prefixlen >= 16:  # noqa: PLR2004  as wide as a block
            found.append(network)
    return found


def free(taken: Iterable[IPv4Network], *, first: int) -> Block:
    """Return a block that overlaps no route; the search begins at `first`."""
    taken = list(taken)
    for step in range(len(_CANDIDATES)):
        block = Block(_CANDIDATES[(first + step) % len(_CANDIDATES)])
        if is_free(block, taken):
            return block
    raise SetupError(
        "addresses: this host has routes into each of 10.200.0.0/16 to 10.254.0.0/16; "
        "a cluster needs one of them"
    )


def is_free(block: Block, taken: Iterable[IPv4Network]) -> bool:
    """Return whether a block overlaps no route."""
    return not any(block.network.overlaps(each) for each in taken)


def _address(hexadecimal: str) -> IPv4Address:
    return IPv4Address(int.from_bytes(bytes.fromhex(hexadecimal), "little"))
