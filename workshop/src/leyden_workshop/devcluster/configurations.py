"""The configuration files of a machine: containerd, the kubelet and the network."""

import json
import shutil
from pathlib import Path
from typing import Final

import msgspec

from leyden.base.files import write_private
from leyden.errors import SetupError
from leyden_workshop.devcluster.addresses import Block
from leyden_workshop.devcluster.credentials import Credentials
from leyden_workshop.devcluster.images import PAUSE
from leyden_workshop.devcluster.layout import Cluster, ClusterLayout, machine_name
from leyden_workshop.devcluster.packages import Packages

# The folder of a machine's configuration, and containerd's socket.
KUBERNETES: Final = Path("/etc/kubernetes")
SOCKET: Final = "/run/containerd/containerd.sock"


def block_of(cluster: Cluster) -> Block:
    """Return the addresses of a cluster with pods."""
    if (block := cluster.addresses) is None:
        raise SetupError("this cluster has no machines: it was created with --api-only")
    return block


def write(
    layout: ClusterLayout,
    cluster: Cluster,
    number: int,
    *,
    packages: Packages,
    snapshotter: str,
    group: str,
) -> None:
    """Write the configuration of a machine, and create its folders."""
    block = block_of(cluster)
    credentials = Credentials(layout.authority)
    folder = layout.machine(number)
    for name in ("root", "var/lib/volumes", "var/lib/imported", "var/log", "var/tmp"):
        (folder / name).mkdir(mode=0o755, parents=True, exist_ok=True)
    etc = folder / "etc/kubernetes"
    etc.mkdir(mode=0o755, parents=True, exist_ok=True)
    own = credentials.pair(machine_name(number))
    for source, name in (
        (credentials.authority.certificate, "authority.crt"),
        (own.certificate, "kubelet.crt"),
        (own.key, "kubelet.key"),
        (credentials.kubeconfig(machine_name(number)), "kubelet.kubeconfig"),
        (credentials.kubeconfig("proxy"), "proxy.kubeconfig"),
    ):
        write_private(etc / name, source.read_bytes())
    write_private(etc / "kubelet.yaml", _kubelet(group))
    write_private(etc / "containerd.toml", _containerd(packages, snapshotter))
    network = folder / "etc/cni/net.d"
    shutil.rmtree(network, ignore_errors=True)
    network.mkdir(parents=True)
    write_private(network / "10-bridge.conflist", _cni(block, number))


def _kubelet(group: str) -> bytes:
    written = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(KUBERNETES / "authority.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(KUBERNETES / "kubelet.crt"),
        "tlsPrivateKeyFile": str(KUBERNETES / "kubelet.key"),
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": group,
        "enforceNodeAllocatable": [],
        "failCgroupV1": False,
        "failSwapOn": False,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        # Deleted images could not be downloaded again.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "makeIPTablesUtilChains": False,  # kube-proxy uses nftables
        "volumePluginDir": "/var/lib/kubelet/plugins",
        "resolvConf": "/etc/resolv.conf",
    }
    return json.dumps(written, indent=2).encode()


def _containerd(packages: Packages, snapshotter: str) -> str:
    return f"""version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{packages.plugins}"
"""


def _cni(block: Block, number: int) -> bytes:
    written = {
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "pods",
                "isGateway": True,
                "ipMasq": False,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": str(block.pods_of(number))}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }
    return msgspec.json.format(msgspec.json.encode(written))
