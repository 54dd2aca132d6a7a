"""The credentials of a cluster's components: certificates and kubeconfigs."""

import base64
import datetime as dt
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

import msgspec

from leyden.base.files import write_private
from leyden.values import Struct
from leyden_workshop.devcluster.certificates import (
    Pair,
    Subject,
    authority,
    issue,
    signing_key,
)
from leyden_workshop.devcluster.layout import Cluster, ClusterLayout, machine_name

_LOOPBACK: Final = IPv4Address("127.0.0.1")
# Without machines nothing routes to services.
_SERVICES: Final = IPv4Network("10.96.0.0/16")
_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
PROVISIONER: Final = "leyden-provisioner"
_USERS: Final = {
    "admin": Subject(name="admin", group="system:masters"),
    "controller-manager": Subject(name="system:kube-controller-manager"),
    "scheduler": Subject(name="system:kube-scheduler"),
    "proxy": Subject(name="system:kube-proxy"),
    "provisioner": Subject(name=PROVISIONER),
}


class Credentials(Struct, frozen=True):
    """The certificates, keys and kubeconfigs of a cluster, by component."""

    folder: Path

    @property
    def authority(self) -> Pair:
        """The authority of all certificates except etcd's."""
        return Pair(self.folder / "authority.crt")

    @property
    def etcd_authority(self) -> Pair:
        """The authority of etcd and its clients."""
        return Pair(self.folder / "etcd-authority.crt")

    @property
    def accounts(self) -> Path:
        """The key that signs service accounts' tokens."""
        return self.folder / "accounts.key"

    def pair(self, name: str) -> Pair:
        """Return a component's certificate and key."""
        return Pair(self.folder / f"{name}.crt")

    def kubeconfig(self, name: str) -> Path:
        """Return a component's kubeconfig."""
        return self.folder / f"{name}.kubeconfig"


def ensure(layout: ClusterLayout, cluster: Cluster, *, now: dt.datetime) -> Credentials:
    """Create missing credentials; renew servers' certificates for current addresses."""
    found = Credentials(layout.authority)
    folder = found.folder
    own = authority(folder, "authority", now=now)
    of_etcd = authority(folder, "etcd-authority", now=now)
    signing_key(found.accounts)
    for name in ("etcd", "etcd-client"):
        subject = Subject(name=name, names=("localhost",), addresses=(_LOOPBACK,))
        _once(of_etcd, found.pair(name), subject, now)
    _once(
        own,
        found.pair("kubelet-client"),
        Subject(name="kube-apiserver", group="system:masters"),
        now,
    )
    issue(own, found.pair("api").certificate, _api(cluster), now=now)
    users = dict(_USERS)
    for number in range(1, cluster.machines + 1):
        users[machine_name(number)] = _machine(cluster, number)
    for name, subject in users.items():
        _once(own, found.pair(name), subject, now)
        write_private(found.kubeconfig(name), _kubeconfig(found, name, server(cluster)))
    admin = found.kubeconfig("admin").read_bytes()
    write_private(layout.kubeconfig, admin)
    return found


def server(cluster: Cluster) -> str:
    """Return the address of the API."""
    block = cluster.addresses
    host = _LOOPBACK if block is None else block.control_plane
    return f"https://{host}:{cluster.ports.api}"


def services(cluster: Cluster) -> IPv4Network:
    """Return the network of services."""
    block = cluster.addresses
    return _SERVICES if block is None else block.services


def _once(by: Pair, pair: Pair, subject: Subject, now: dt.datetime) -> None:
    if not pair.exists:
        issue(by, pair.certificate, subject, now=now)


def _api(cluster: Cluster) -> Subject:
    block = cluster.addresses
    own = () if block is None else (block.control_plane,)
    first = services(cluster)[1]
    return Subject(
        name="kube-apiserver", names=_NAMES, addresses=(_LOOPBACK, first, *own)
    )


def _machine(cluster: Cluster, number: int) -> Subject:
    """Return the subject of a kubelet's certificate, as a client and as a server."""
    block = cluster.addresses
    name = machine_name(number)
    addresses: Sequence[IPv4Address] = ()
    if block is not None:
        addresses = (block.machine(number),)
    return Subject(
        name=f"system:node:{name}",
        group="system:nodes",
        names=(name,),
        addresses=addresses,
    )


def _kubeconfig(found: Credentials, name: str, api: str) -> bytes:
    pair = found.pair(name)
    written = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "leyden",
                "cluster": {
                    "server": api,
                    "certificate-authority-data": _data(found.authority.certificate),
                },
            }
        ],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": _data(pair.certificate),
                    "client-key-data": _data(pair.key),
                },
            }
        ],
        "contexts": [
            {"name": "leyden", "context": {"cluster": "leyden", "user": name}}
        ],
        "current-context": "leyden",
    }
    # JSON is YAML.
    return msgspec.json.format(msgspec.json.encode(written))


def _data(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
