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
from leyden_workshop.devcluster.places import Cluster, Places, Ports


def refuse_change(places: Places, machines: int | None, *, pods: bool) -> None:
    """Raise SetupError for a change that an existing cluster can't make."""
    kept = places.read()
    if kept is None:
        return
    if (kept.block is not None) != pods:
        how = "with pods" if kept.block is not None else "with --api-only"
        raise SetupError(
            f"this cluster was created {how}; to change that, stop it with `leyden dev "
            f"cluster down`, and remove {places.folder} or choose another --home"
        )
    if machines is None:
        return
    for number in range(machines + 1, kept.machines + 1):
        if namespaces.running(places.machine(number)) is not None:
            raise SetupError(
                f"--machines {machines}: {kept.machines} are running; to have fewer, "
                "stop them with `leyden dev cluster down` first"
            )


def with_pods(
    places: Places, machines: int | None, *, taken: Sequence[IPv4Network]
) -> Cluster:
    """Return a cluster with free addresses: its earlier ones, if it had any."""
    kept = places.read()
    if kept is None or (block := kept.addresses) is None:
        number = free(taken, first=places.number).number
        return Cluster(machines=machines or 1, block=number)
    running = namespaces.running(places.control_plane) is not None
    if not running and not is_free(block, taken):
        raise SetupError(
            f"addresses: {block.network}, which this cluster uses, is now routed "
            "elsewhere (see `ip route`); remove that route, or remove "
            f"{places.folder} to create a new cluster"
        )
    return replace(kept, machines=machines or kept.machines)


def without_pods(places: Places) -> Cluster:
    """Return a cluster with free ports: its earlier ones, if they are free."""
    kept = places.read()
    if kept is not None:
        running = namespaces.running(places.control_plane) is not None
        if running or _are_free(kept.ports):
            return kept
    return Cluster(machines=0, ports=_free_ports())


def _are_free(ports: Ports) -> bool:
    with contextlib.ExitStack() as held:
        for each in (ports.api, ports.etcd, ports.etcd_peer):
            probe = held.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", each))
            except OSError:
                return False
    return True


def _free_ports() -> Ports:
    with contextlib.ExitStack() as held:
        numbers = []
        for _ in range(3):
            probe = held.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            numbers.append(int(probe.getsockname()[1]))
    api, etcd, peer = numbers
    return Ports(api=api, etcd=etcd, etcd_peer=peer)
