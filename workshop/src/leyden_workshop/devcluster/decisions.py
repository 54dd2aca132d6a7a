"""Decide a cluster's form from what it was, what is requested, and what is free here.

Impossible requests are rejected before anything is built.
"""

import contextlib
import socket
from collections.abc import Sequence
from ipaddress import IPv4Network

from leyden.errors import SetupError
from leyden.values import replace
from leyden_workshop.devcluster import namespaces
from leyden_workshop.devcluster.addresses import free, is_free
from leyden_workshop.devcluster.layout import Cluster, ClusterLayout, ControlPlanePorts


def refuse_change(layout: ClusterLayout, machines: int | None, *, pods: bool) -> None:
    """Raise SetupError for a change that an existing cluster can't make."""
    cluster_ = layout.read()
    if cluster_ is None:
        return
    if (cluster_.block is not None) != pods:
        how = "with pods" if cluster_.block is not None else "with --api-only"
        raise SetupError(
            f"this cluster was created {how}; to change that, stop it with `leyden dev "
            f"cluster down`, and remove {layout.folder} or choose another --home"
        )
    if machines is None:
        return
    for number in range(machines + 1, cluster_.machines + 1):
        if namespaces.running(layout.machine(number)) is not None:
            raise SetupError(
                f"--machines {machines}: {cluster_.machines} are running; to have "
                "fewer, stop them with `leyden dev cluster down` first"
            )


def with_pods(
    layout: ClusterLayout, machines: int | None, *, taken: Sequence[IPv4Network]
) -> Cluster:
    """Return a cluster with free addresses: its earlier ones, if it had any."""
    cluster_ = layout.read()
    if cluster_ is None or (block := cluster_.addresses) is None:
        number = free(taken, first=layout.number).number
        return Cluster(machines=machines or 1, block=number)
    running = namespaces.running(layout.control_plane) is not None
    if not running and not is_free(block, taken):
        raise SetupError(
            f"addresses: {block.network}, which this cluster uses, is now routed "
            "elsewhere (see `ip route`); remove that route, or remove "
            f"{layout.folder} to create a new cluster"
        )
    return replace(cluster_, machines=machines or cluster_.machines)


def without_pods(layout: ClusterLayout) -> Cluster:
    """Return a cluster with free ports: its earlier ones, if they are free."""
    cluster_ = layout.read()
    if cluster_ is not None:
        running = namespaces.running(layout.control_plane) is not None
        if running or _are_free(cluster_.ports):
            return cluster_
    return Cluster(machines=0, ports=_free_ports())


def _are_free(ports: ControlPlanePorts) -> bool:
    with contextlib.ExitStack() as held:
        for each in (ports.api, ports.etcd, ports.etcd_peer):
            probe = held.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", each))
            except OSError:
                return False
    return True


def _free_ports() -> ControlPlanePorts:
    with contextlib.ExitStack() as held:
        numbers = []
        for _ in range(3):
            probe = held.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            numbers.append(int(probe.getsockname()[1]))
    api, etcd, peer = numbers
    return ControlPlanePorts(api=api, etcd=etcd, etcd_peer=peer)
