"""Access to a private chain's daemons: HOME/devnet/network.json, 0600.

Anyone who has the file can mine and spend. The commands, the platform and
the auctioneer use it.
"""

from pathlib import Path

import msgspec

from leyden.base.files import write_private
from leyden.base.settings.fields import PRIVATE_CHAIN
from leyden.customer.claim.rest import LndEndpoint, Pool
from leyden.errors import SetupError

__all__ = [
    "AuctioneerAccess",
    "BtcdAccess",
    "ChainAccess",
    "ClusterAccess",
    "LndEndpoint",
    "Pool",
]
_FILE = "network.json"


class BtcdAccess(msgspec.Struct, frozen=True, kw_only=True):
    """btcd's address and credentials."""

    address: str  # host:port
    user: str
    password: str
    certificate: str  # a path

    def __repr__(self) -> str:
        return f"Btcd({self.address})"


class AuctioneerAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of the auctioneer and of its control port."""

    address: str
    control: str


class ClusterAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster on this machine whose pods the nodes are."""

    host: str  # this machine, as pods reach it
    kubeconfig: str  # a path
    namespace: str
    storage_class: str
    images: str  # as the setting kubernetes_images
    companion_image: str
    companion_url: str


class ChainAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Access to all daemons of a private chain."""

    chain: str
    daemons: list[str]  # in the order they are started in
    btcd: BtcdAccess
    lnds: dict[str, LndEndpoint]
    pools: dict[str, Pool] = {}
    auctioneer: AuctioneerAccess | None = None  # None: it was left out
    cluster: ClusterAccess | None = None  # None: nodes are processes of this machine


def port(address: str) -> int:
    """Return the port of host:port."""
    return int(address.rpartition(":")[2])


def folder(home: Path) -> Path:
    """Return the folder of an installation's private chain."""
    return home / PRIVATE_CHAIN


def save(home: Path, access: ChainAccess) -> None:
    """Save the access file, readable only by its owner, atomically."""
    path = folder(home) / _FILE
    write_private(path, msgspec.json.format(msgspec.json.encode(access)) + b"\n")


def load(home: Path) -> ChainAccess:
    """Load the access file; raise SetupError without a private chain."""
    path = folder(home) / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=ChainAccess)
    except FileNotFoundError:
        raise SetupError(
            f"no private chain in {home}; `leyden up` creates one"
        ) from None
    except msgspec.MsgspecError as error:
        raise SetupError(f"{path}: {error}; `leyden up` creates it again") from None
