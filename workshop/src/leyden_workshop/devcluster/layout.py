"""The folder of a cluster, and its stored description."""

import hashlib
from pathlib import Path
from typing import Final, Self

import msgspec

from leyden.base.files import write_private
from leyden.errors import SetupError
from leyden.values import Struct
from leyden_workshop.devcluster.addresses import Block

_WRITTEN: Final = "cluster.json"
_LONG_AGO: Final = 256


class ControlPlanePorts(Struct, frozen=True, kw_only=True):
    """The ports of a control plane on the loopback address of this host."""

    api: int
    etcd: int
    etcd_peer: int


# The usual ports, which are free in a network namespace of its own.
USUAL: Final = ControlPlanePorts(api=6443, etcd=2379, etcd_peer=2380)


class Cluster(Struct, frozen=True, kw_only=True):
    """The description of a cluster, decided at its creation; stored as cluster.json."""

    machines: int
    block: int | None = None  # None: without pods, on the loopback address
    ports: ControlPlanePorts = USUAL

    @property
    def addresses(self) -> Block | None:
        """The cluster's addresses; None without pods."""
        return None if self.block is None else Block(self.block)


class ClusterLayout(Struct, frozen=True):
    """The folder of a cluster."""

    folder: Path

    @classmethod
    def of(cls, home: Path) -> Self:
        """Return the folder of a home's cluster."""
        return cls(home.absolute() / "cluster")

    @property
    def name(self) -> str:
        """A name for control groups, unique on this host."""
        digest = hashlib.sha256(bytes(self.folder))
        return f"leyden-cluster-{digest.hexdigest()[:12]}"

    @property
    def number(self) -> int:
        """A number that usually differs between clusters."""
        return hashlib.sha256(bytes(self.folder)).digest()[0] % _LONG_AGO

    @property
    def link_address(self) -> str:
        """The hardware address of this host's link, which identifies the cluster."""
        digest = hashlib.sha256(bytes(self.folder)).digest()
        return "02:" + digest[:5].hex(":")

    @property
    def control_plane(self) -> Path:
        """The folder of the control plane."""
        return self.folder / "control-plane"

    def machine(self, number: int) -> Path:
        """Return the folder of a machine."""
        return self.folder / machine_name(number)

    @property
    def authority(self) -> Path:
        """The folder of the cluster's certificates and keys."""
        return self.folder / "pki"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, for kubectl."""
        return self.folder / "kubeconfig"

    @property
    def lock(self) -> Path:
        """The lock file for changes of the cluster."""
        return self.folder / "lock"

    def read(self) -> Cluster | None:
        """Return the cluster's description; None if there is no cluster yet."""
        file = self.folder / _WRITTEN
        try:
            return msgspec.json.decode(file.read_bytes(), type=Cluster)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise SetupError(
                f"{file}: the content is damaged ({error}); run `leyden dev cluster "
                f"down`, then remove {self.folder}"
            ) from None

    def write(self, cluster: Cluster) -> None:
        """Store the cluster's description."""
        write_private(self.folder / _WRITTEN, msgspec.json.encode(cluster))


def machine_name(number: int) -> str:
    """Return the name of a machine, which is also its node's name in Kubernetes."""
    return f"machine-{number}"
