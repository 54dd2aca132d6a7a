"""Where everything of a node is on this machine.

ROOT/<node id>/           0711
├── claim                 locked by the lnd that runs: there is never a second one
├── output.log            what lnd prints: when it cannot log, and of callers' TLS
└── lnd/                  0700  lnd's own folder (lnd/home.py), its own user's
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from leyden.domain.nodes import Network, Node
from leyden.lnd.chains import Backend, Chain
from leyden.runtimes.seats import Seats
from leyden.values import Struct

# What is there is about the latest end, or of use to nobody.
MOST_OUTPUT: Final = 1 << 20


class Ground(Struct, frozen=True, kw_only=True):
    """Which chain a network of the API stands for, and where its blocks come from."""

    chain: Chain
    backend: Backend


class Layout(Struct, frozen=True, kw_only=True):
    """Where everything of a node is on this machine."""

    root: Path
    seats: Seats
    grounds: Mapping[Network, Ground]

    def folder(self, node: Node) -> Path:
        """Give the folder that is ours."""
        return self.root / node.id

    def claim(self, node: Node) -> Path:
        """Give the file that its lnd holds locked."""
        return self.root / node.id / "claim"

    def output(self, node: Node) -> Path:
        """Give the file with what lnd prints."""
        return self.root / node.id / "output.log"

    def home(self, node: Node) -> Path:
        """Give the folder that is lnd's."""
        return self.root / node.id / "lnd"
