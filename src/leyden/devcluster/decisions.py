"""What a cluster is to be: what it was, what is asked for now, what this host has free.

What cannot be had is refused before anything is built.
"""

import contextlib
import socket
from collections.abc import Sequence
from ipaddress import IPv4Network

from leyden.devcluster import namespaces
from leyden.devcluster.addresses import free, is_free
from leyden.devcluster.places import Cluster, Places, Ports
from leyden.errors import SetupError
from leyden.values import replace


def refuse_change(places: Places, machines: int | None, *, pods: bool) -> None:
    """Refuse what a cluster that is there cannot become."""
    kept = places.read()
    if kept is None:
        return
    if (kept.block is not None) != pods:
        how = "with pods" if kept.block is not None else "with --api-only"
        raise SetupError(
            f"this cluster was made {how}; for another kind end it with `leyden dev "
            f"cluster down`, and remove {places.folder} or choose another --home"
        )
    if machines is None:
        return
    for number in range(machines + 1, kept.machines + 1):
        if namespaces.running(places.machine(number)) is not None:
            raise SetupError(
                f"--machines {machines}: {kept.machines} run; `leyden dev cluster "
                "down` ends them, then there can be fewer"
            )


def with_pods(
    places: Places, machines: int | None, *, taken: Sequence[IPv4Network]
) -> Cluster:
    """Return a cluster with addresses that are free: those that it had, if any."""
    kept = places.read()
    if kept is None or (block := kept.addresses) is None:
        number = free(taken, first=places.number).number
        return Cluster(machines=machines or 1, block=number)
    running = namespaces.running(places.control_plane) is not None
    if not running and not is_free(block, taken):
        raise SetupError(
            f"addresses: {block.network}, which this cluster has, is routed elsewhere "
            f"by now (`ip route`); end that, or remove {places.folder} for a new one"
        )
    return replace(kept, machines=machines or kept.machines)


def without_pods(places: Places) -> Cluster:
    """Return a cluster with ports that are free, those that it had if they are."""
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
