"""One machine: its root, its network, containerd, the kubelet and kube-proxy.

It has the usual paths of a Kubernetes machine: /etc/kubernetes, /etc/cni/net.d,
/var/lib/kubelet. On the host these are below the machine's folder.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leyden_workshop.devcluster import roots
from leyden_workshop.devcluster.commands import call
from leyden_workshop.devcluster.configurations import KUBERNETES, SOCKET, block_of
from leyden_workshop.devcluster.layout import Cluster, ClusterLayout, machine_name
from leyden_workshop.devcluster.namespaces import enter
from leyden_workshop.devcluster.packages import Packages
from leyden_workshop.devcluster.parts import Parts
from leyden_workshop.devcluster.plans import (
    MachinePlan,
    PlannedProgram,
    PlannedStep,
    program,
    setting,
    settings,
    shell,
    step,
)

# The folder of volumes in a machine.
VOLUMES: Final = Path("/var/lib/volumes")
# The kubelet would change these for the whole host, unless they are already set. So it
# sees them set, in files that are mounted over the kernel's.
_TUNABLES: Final = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}
_HAS_ROUTE: Final = '[ -n "$(ip route show default)" ]'
# If kube-proxy 1.34 finds its table from an earlier run, it empties the maps in it, and
# services stop working (seen with nft 1.0.6 after each kill). So delete the table
# first.
_WITHOUT_TABLES: Final = """
nft delete table ip kube-proxy 2>/dev/null
nft delete table ip6 kube-proxy 2>/dev/null
exec "$@"
"""
_TUNABLE: Final = """
mkdir -p "$(dirname "/run/tunables/$1")"
echo "$2" > "/run/tunables/$1"
[ ! -e "/proc/sys/$1" ] || mount --bind "/run/tunables/$1" "/proc/sys/$1"
"""
_IMPORT: Final = """
[ -e "$2" ] || ctr --address "$3" --namespace k8s.io images import \
	--digests --base-name "$4" "$1"
: > "$2"
"""


def plan(
    layout: ClusterLayout, cluster: Cluster, number: int, made_of: Parts
) -> MachinePlan:
    """Return the plan of a machine's first process."""
    packages, block = made_of.packages, block_of(cluster)
    folder = layout.machine(number)
    writable = {
        folder / "var": "/var",
        folder / "etc/kubernetes": "/etc/kubernetes",
        folder / "etc/cni": "/etc/cni",
    }
    todo: list[PlannedStep | PlannedProgram] = [
        *roots.steps(folder / "root", writable=writable, cache=made_of.cache),
        *(shell(_TUNABLE, name, value) for name, value in _TUNABLES.items()),
        *_network(),
        program(
            "containerd",
            packages.root / "usr/bin/containerd",
            f"--config={KUBERNETES / 'containerd.toml'}",
        ),
        step("ctr", "--address", SOCKET, "version", within_s=60.0),
    ]
    for image in made_of.images:
        mark = f"/var/lib/imported/{image.digest}"
        words = (image.archive, mark, SOCKET, image.repository)
        todo.append(shell(_IMPORT, *words, within_s=60.0))
    todo += [
        program(
            "kubelet",
            made_of.binaries["kubelet"],
            f"--config={KUBERNETES / 'kubelet.yaml'}",
            f"--kubeconfig={KUBERNETES / 'kubelet.kubeconfig'}",
            f"--hostname-override={machine_name(number)}",
            f"--node-ip={block.machine(number)}",
        ),
        program(
            "kube-proxy",
            *("/bin/sh", "-c", _WITHOUT_TABLES, "sh", made_of.binaries["kube-proxy"]),
            f"--kubeconfig={KUBERNETES / 'proxy.kubeconfig'}",
            f"--hostname-override={machine_name(number)}",
            "--proxy-mode=nftables",
            f"--cluster-cidr={block.pods}",
            # The connection table's size is the whole host's, so leave it unchanged.
            "--conntrack-max-per-core=0",
            "--conntrack-tcp-timeout-established=0",
            "--conntrack-tcp-timeout-close-wait=0",
        ),
    ]
    return MachinePlan(
        logs=Path("/var/log"),
        environment={
            **packages.environment(),
            "HOME": "/root",
            "TMPDIR": "/var/tmp",  # noqa: S108  the machine's own
        },
        todo=todo,
    )


def _network() -> Iterator[PlannedStep]:
    yield step("ip", "link", "set", "lo", "up")
    # The link and its routes are created from outside, once this process exists.
    yield shell(_HAS_ROUTE, within_s=30.0)
    yield setting("net/ipv4/ip_forward", 1)
    yield setting("net/bridge/bridge-nf-call-iptables", 1)
    yield from settings()


async def load(
    pid: int, archive: bytes, packages: Packages, *, repository: str
) -> None:
    """Import an image into a running machine; with a repository, also by its digest."""
    by_digest = ("--digests", "--base-name", repository) if repository else ()
    await call(
        *enter(pid, mounts=True, own=True),
        packages.root / "usr/bin/ctr",
        *("--address", SOCKET, "--namespace", "k8s.io", "images", "import"),
        *(*by_digest, "-"),
        environment=packages.environment(),
        given=archive,
    )
