"""Wait until a cluster can be used: the API responds, machines are ready."""

import asyncio
import datetime as dt
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from leyden.errors import SetupError
from leyden_workshop.devcluster import namespaces, storage
from leyden_workshop.devcluster.api import ApiAway, ApiRefused, ClusterApi, Object

_RESPONDS_WITHIN_S: Final = 180.0
_READY_WITHIN_S: Final = 180.0
_POLL_S: Final = 0.1
_EVER: Final = dt.datetime.min.replace(tzinfo=dt.UTC)
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_ACCOUNT: Final = "/api/v1/namespaces/default/serviceaccounts/default"


async def settle(api: ClusterApi, control_plane: Path) -> None:
    """Wait for the API, and create the objects that every cluster has."""
    await _until(
        api.ready,
        [control_plane],
        "the API server does not respond; its log is "
        f"{control_plane / 'kube-apiserver.log'}",
        within_s=_RESPONDS_WITHIN_S,
    )
    for path, value in storage.objects():
        await api.create(path, value)

    async def has_begun() -> bool:
        return await _found(api, _ACCOUNT) is not None

    # Without the default service account, pods are rejected.
    await _until(
        has_begun,
        [control_plane],
        "the controllers do not start; their log is "
        f"{control_plane / 'kube-controller-manager.log'}",
        within_s=_RESPONDS_WITHIN_S,
    )


async def register(api: ClusterApi, machine: str) -> None:
    """Create the node object of a machine, if it was deleted.

    A kubelet creates it only at its own start, and fills one that exists.
    """
    labels = {"kubernetes.io/hostname": machine, "kubernetes.io/os": "linux"}
    if await _found(api, f"/api/v1/nodes/{machine}") is None:
        await api.create(
            "/api/v1/nodes",
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": machine, "labels": labels},
            },
        )


async def join(
    api: ClusterApi,
    control_plane: Path,
    machine: Path,
    *,
    since: dt.datetime,
    heard_since: dt.datetime,
) -> None:
    """Wait until a machine is ready for pods, and sends heartbeats.

    It must have reported that it is ready since it was started, and renewed its lease
    since this control plane was started: it reports readiness only every five minutes.
    """

    async def is_ready() -> bool:
        node = await _found(api, f"/api/v1/nodes/{machine.name}")
        lease = await _found(api, f"{_LEASES}/{machine.name}")
        if node is None or lease is None:
            return False
        return ready(node, since=since) and heard(lease, since=heard_since)

    await _until(
        is_ready,
        [control_plane, machine],
        f"{machine.name} is not ready; its logs are in {machine / 'var/log'}",
        within_s=_READY_WITHIN_S,
    )


def ready(node: Object, *, since: dt.datetime = _EVER) -> bool:
    """Return whether the kubelet of a node has reported that it is ready since a time.

    The API server keeps a stopped kubelet's last report for a while.
    """
    for each in node["status"].get("conditions", []):
        if each["type"] == "Ready" and each["status"] == "True":
            said = dt.datetime.fromisoformat(each["lastHeartbeatTime"])
            return said >= since.replace(microsecond=0)
    return False


def heard(lease: Object, *, since: dt.datetime) -> bool:
    """Return whether a kubelet has renewed its lease since a time."""
    renewed = lease["spec"].get("renewTime")
    return renewed is not None and dt.datetime.fromisoformat(renewed) >= since


async def _until(
    done: Callable[[], Awaitable[bool]],
    running: Sequence[Path],
    trouble: str,
    *,
    within_s: float,
) -> None:
    """Wait until a check succeeds; raise SetupError if the process has ended."""
    deadline = time.monotonic() + within_s
    while not await done():
        for folder in running:
            if namespaces.running(folder) is None:
                raise SetupError(
                    f"{folder.name} did not start: {namespaces.last_words(folder)}"
                )
        if time.monotonic() > deadline:
            raise SetupError(trouble)
        await asyncio.sleep(_POLL_S)


async def _found(api: ClusterApi, path: str) -> Object | None:
    try:
        return await api.get(path)
    except (ApiAway, ApiRefused):
        return None
