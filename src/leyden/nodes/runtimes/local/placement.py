"""The placement of nodes on this machine: address, user, share.

All of it follows from the node's placement number, so nothing has to be
allocated or freed.
"""

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from leyden.base.processes import ResourceLimits
from leyden.errors import SetupError
from leyden.nodes.lnd.home import FileOwner
from leyden.nodes.rules.nodes import Node, NodeType
from leyden.values import Struct, field

MIB: Final = 1 << 20
# lnd peaks at 353 MB while it unlocks its wallet: with less it could never be unlocked.
LEAST_MEMORY: Final = 400 * MIB
USUAL_WEIGHT: Final = 100
_OTHERS_MAY_PASS: Final = 0o001


class Share(Struct, frozen=True, kw_only=True):
    """A node's share of the machine."""

    memory: int  # bytes
    weight: int = USUAL_WEIGHT  # where CPUs are short
    cpus: int = 1  # on which it computes at once, whatever is free
    open_files: int = 4096

    def __post_init__(self) -> None:
        if self.memory < LEAST_MEMORY:
            raise SetupError(
                f"a node needs at least {LEAST_MEMORY // MIB} MiB of memory: "
                "lnd takes that much to unlock its wallet"
            )

    @property
    def limits(self) -> ResourceLimits:
        """Return the limits of each process; cgroups.py sets the others."""
        return ResourceLimits(open_files=self.open_files)

    @property
    def environment(self) -> Mapping[str, str]:
        """Return what tells Go its share: it looks at the machine otherwise.

        It collects garbage before memory is short, and not on all CPUs at once, where
        everybody else would wait.
        """
        return {
            "GOMEMLIMIT": f"{self.memory * 9 // 10}B",
            "GOMAXPROCS": str(self.cpus),
        }


SHARES: Final[Mapping[NodeType, Share]] = {
    NodeType.STANDARD: Share(memory=1024 * MIB),
    NodeType.PROFESSIONAL: Share(
        memory=4096 * MIB, weight=400, cpus=4, open_files=16_384
    ),
}


class Placement(Struct, frozen=True, kw_only=True):
    """The mapping from placement numbers to addresses and users."""

    network: (
        ipaddress.IPv4Network
    )  # of loopback; installations must not share addresses
    rest_port: int = 18_080
    grpc_port: int = 18_009
    peer_port: int = 18_735  # for the peers that the gateway lets through
    first_uid: int | None = None  # None: nodes run as our own user
    shares: Mapping[NodeType, Share] = field(default_factory=lambda: SHARES)

    def host(self, node: Node) -> str:
        """Return the node's address, where only the node listens."""
        if not 0 < node.slot < self.network.num_addresses - 1:
            raise SetupError(f"{self.network} has no address for node {node.slot}")
        return str(self.network.network_address + node.slot)

    def owner(self, node: Node) -> FileOwner | None:
        """Return the node's own user, if each node has one."""
        if self.first_uid is None:
            return None
        return FileOwner(uid=self.first_uid + node.slot, gid=self.first_uid + node.slot)


def can_be_reached(path: Path) -> bool:
    """Return whether any user may pass through all folders on the path."""
    folders = [path.absolute(), *path.absolute().parents]
    return all(folder.stat().st_mode & _OTHERS_MAY_PASS for folder in folders)


def may_give_users() -> bool:
    """Return whether we can start programs as another user."""
    return os.geteuid() == 0
