"""The paths of a node on this machine.

ROOT/<node id>/           0711
├── claim                 locked by the lnd that runs: never a second one
├── starts                how often it was started: an old copy has a lower number
├── output.log            lnd's output: if it cannot log, and TLS errors
└── lnd/                  0700  lnd's own folder (nodes/lnd/home.py), its own user's
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from leyden.nodes.lnd import home
from leyden.nodes.lnd.chains import Backend, Chain
from leyden.nodes.rules.nodes import Network, Node
from leyden.nodes.runtimes.local.placement import Placement
from leyden.values import Struct

# Only the lines about the latest end are useful.
MAX_OUTPUT: Final = 1 << 20
_LND: Final = "lnd"


def root(home_path: Path) -> Path:
    """Return the folder with the nodes of an installation."""
    return home_path / "nodes"


def folder(root: Path, node: Node) -> Path:
    """Return a node's folder."""
    return root / node.id


def is_here(root: Path, node: Node) -> bool:
    """Return whether the node has a folder here."""
    return folder(root, node).is_dir()


def has_wallet(root: Path, node: Node) -> bool:
    """Return whether the node has a wallet here, on any chain."""
    return home.has_wallet(folder(root, node) / _LND)


class Ground(Struct, frozen=True, kw_only=True):
    """The chain for a network of the API, and its backend."""

    chain: Chain
    backend: Backend


class Layout(Struct, frozen=True, kw_only=True):
    """The paths of all nodes on this machine."""

    root: Path
    placement: Placement
    grounds: Mapping[Network, Ground]

    def folder(self, node: Node) -> Path:
        """Return the node's folder, which is ours."""
        return folder(self.root, node)

    def claim(self, node: Node) -> Path:
        """Return the file that its lnd keeps locked."""
        return self.root / node.id / "claim"

    def starts(self, node: Node) -> Path:
        """Return the file that counts its starts."""
        return self.root / node.id / "starts"

    def output(self, node: Node) -> Path:
        """Return the file with lnd's output."""
        return self.root / node.id / "output.log"

    def home(self, node: Node) -> Path:
        """Return lnd's own folder."""
        return self.folder(node) / _LND
