"""Where everything of a cluster lies: one folder, and what is known of it."""

import hashlib
from pathlib import Path
from typing import Final, Self

import msgspec

from leyden.devcluster.addresses import Block
from leyden.errors import SetupError
from leyden.files import write_private
from leyden.values import Struct

_WRITTEN: Final = "cluster.json"
_LONG_AGO: Final = 256


class Ports(Struct, frozen=True, kw_only=True):
    """The ports of a control plane on the loopback address of this host."""

    api: int
    etcd: int
    etcd_peer: int


# In a network namespace of its own nobody else has them.
USUAL: Final = Ports(api=6443, etcd=2379, etcd_peer=2380)


class Cluster(Struct, frozen=True, kw_only=True):
    """What was decided when a cluster was made; kept as cluster.json."""

    machines: int
    block: int | None = None  # None: without pods, on the loopback address
    ports: Ports = USUAL

    @property
    def addresses(self) -> Block | None:
        """Its addresses; None without pods."""
        return None if self.block is None else Block(self.block)


class Places(Struct, frozen=True):
    """The folder of a cluster."""

    folder: Path

    @classmethod
    def of(cls, home: Path) -> Self:
        """Return the place of the cluster of a home."""
        return cls(home.absolute() / "cluster")

    @property
    def name(self) -> str:
        """A name that no other cluster on this host has: of its control groups."""
        digest = hashlib.sha256(bytes(self.folder))
        return f"leyden-cluster-{digest.hexdigest()[:12]}"

    @property
    def number(self) -> int:
        """A number that differs from cluster to cluster, mostly."""
        return hashlib.sha256(bytes(self.folder)).digest()[0] % _LONG_AGO

    @property
    def link_address(self) -> str:
        """The hardware address of this host's link: it tells whose the link is."""
        digest = hashlib.sha256(bytes(self.folder)).digest()
        return "02:" + digest[:5].hex(":")

    @property
    def control_plane(self) -> Path:
        """What the control plane has."""
        return self.folder / "control-plane"

    def machine(self, number: int) -> Path:
        """Return the folder of a machine."""
        return self.folder / machine_name(number)

    @property
    def authority(self) -> Path:
        """The certificates and keys of the cluster."""
        return self.folder / "pki"

    @property
    def kubeconfig(self) -> Path:
        """What kubectl of the administrator reads."""
        return self.folder / "kubeconfig"

    @property
    def lock(self) -> Path:
        """Held by whoever changes the cluster."""
        return self.folder / "lock"

    def read(self) -> Cluster | None:
        """Return what was decided; None when there is no cluster yet."""
        file = self.folder / _WRITTEN
        try:
            return msgspec.json.decode(file.read_bytes(), type=Cluster)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise SetupError(
                f"{file}: not what was written there ({error}); remove {self.folder} "
                "once `leyden dev cluster down` has ended what runs"
            ) from None

    def write(self, cluster: Cluster) -> None:
        """Keep what was decided."""
        write_private(self.folder / _WRITTEN, msgspec.json.encode(cluster))


def machine_name(number: int) -> str:
    """Return the name of a machine; its node's in Kubernetes, too."""
    return f"machine-{number}"
