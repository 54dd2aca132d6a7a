"""Check the requirements of a cluster with pods, by trying each."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from leyden.errors import SetupError
from leyden_workshop.devcluster import cgroups, namespaces
from leyden_workshop.devcluster.commands import attempt

_MISSING: Final = "missing: "
# It runs in temporary namespaces; each line tries one requirement.
_TRIED: Final = r"""
try() { name=$1; shift; "$@" >/dev/null 2>&1 || echo "missing: $name"; }
rules() { printf 'table ip leyden {\n%b\n}\n' "$1" | nft -f -; }
forward='chain f { type filter hook forward priority 0;'
ip link set lo up
try 'veth links (CONFIG_VETH)' ip link add v0 type veth peer name v1
try 'bridges (CONFIG_BRIDGE)' ip link add b0 type bridge
try 'bridged packets in nftables (module br_netfilter)' \
	test -e /proc/sys/net/bridge/bridge-nf-call-iptables
try 'nftables' rules "$forward accept; }"
try 'nftables: conntrack' rules "$forward ct state established accept; }"
try 'nftables: fib' rules "$forward fib daddr type local accept; }"
try 'nftables: numgen' rules "$forward numgen random mod 2 vmap { 0 : accept }; }"
try 'nftables: maps' rules \
	'map m { type ipv4_addr . inet_proto . inet_service : verdict; }'
try 'nftables: NAT' rules \
	'chain n { type nat hook postrouting priority 100; masquerade; }'
"""
_OVERLAY: Final = (
    'mkdir -p "$1/l" "$1/u" "$1/w" "$1/m" && mount -t overlay overlay '
    '-o "lowerdir=$1/l,upperdir=$1/u,workdir=$1/w" "$1/m"'
)


def check() -> None:
    """Raise SetupError without root, or without namespaces or control groups."""
    if os.geteuid():
        raise SetupError(
            "a cluster with pods needs root (for namespaces, mounts and control "
            "groups); run this as root, or use --api-only for a cluster without pods"
        )
    found = "/usr/sbin:/usr/bin:/sbin:/bin"
    missing = [
        f"the program {each}"
        for each in namespaces.programs()
        if shutil.which(each, path=found) is None
    ]
    if why := cgroups.trouble():
        missing.append(why)
    _refuse(missing)


async def check_kernel(environment: Mapping[str, str]) -> None:
    """Raise SetupError, naming what is missing, for a kernel that lacks a feature."""
    alone = ("unshare", "--mount", "--pid", "--net", "--fork", "--propagation=private")
    code, _, said = await attempt(*alone, "true", environment=environment)
    if code != 0:
        _refuse([f"namespaces for mounts, processes and network ({said.strip()})"])
    for module in ("br_netfilter", "overlay"):
        if shutil.which("modprobe"):  # this module is not loaded automatically
            await attempt("modprobe", "--quiet", module, environment=environment)
    code, printed, said = await attempt(
        *(*alone, "/bin/sh", "-c", _TRIED), environment=environment
    )
    lines = [each for each in printed.splitlines() if each.startswith(_MISSING)]
    missing = [each.removeprefix(_MISSING) for each in lines]
    if code != 0 and not missing:
        missing = [f"what a cluster tries in a namespace ({said.strip()})"]
    _refuse(missing)


async def snapshotter(folder: Path, environment: Mapping[str, str]) -> str:
    """Return the containerd snapshotter for a folder: overlay, or native (copies).

    A folder that is in an overlay itself, as in many containers, can't have overlays.
    """
    trial = folder / "overlay"
    try:
        code, _, _ = await attempt(
            *("unshare", "--mount", "--propagation=private"),
            *("/bin/sh", "-c", _OVERLAY, "sh", trial),
            environment=environment,
        )
    finally:
        shutil.rmtree(trial, ignore_errors=True)
    return "overlayfs" if code == 0 else "native"


def _refuse(missing: list[str]) -> None:
    if missing:
        raise SetupError(
            f"this machine can't run a cluster with pods; it lacks: "
            f"{'; '.join(missing)}. Use --api-only for a cluster without pods"
        )
