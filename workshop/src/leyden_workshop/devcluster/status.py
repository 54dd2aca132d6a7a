"""The status of a cluster: machines, pods, versions, and the path of its kubeconfig."""

from typing import Any, Final

from leyden_workshop.devcluster import (
    binaries,
    credentials,
    namespaces,
    packages,
    readiness,
)
from leyden_workshop.devcluster.api import ApiAway, ApiRefused, ClusterApi, opened
from leyden_workshop.devcluster.credentials import Credentials
from leyden_workshop.devcluster.layout import Cluster, ClusterLayout, machine_name

_TOLD: Final = ("containerd", "runc", "etcd-server")


async def status(layout: ClusterLayout) -> dict[str, Any]:
    """Return the status; `api` is "ready" if the cluster is up."""
    cluster = layout.read()
    running = namespaces.running(layout.control_plane)
    if cluster is None or running is None:
        return {"api": "not running", "folder": str(layout.folder)}
    own = Credentials(layout.authority)
    pinned = packages.pinned()
    found: dict[str, Any] = {
        "api": "not ready",
        "server": credentials.server(cluster),
        "kubeconfig": str(layout.kubeconfig),
        "folder": str(layout.folder),
        "process": running.pid,
        "kubernetes": binaries.VERSION,
        **{name.removesuffix("-server"): pinned[name] for name in _TOLD},
        "machines": _machines(layout, cluster),
        "pods": [],
    }
    async with opened(
        found["server"], own.authority.certificate, own.pair("admin")
    ) as api:
        if await api.ready():
            found["api"] = "ready"
            await _ask(api, found)
    return found


def _machines(layout: ClusterLayout, cluster: Cluster) -> list[dict[str, Any]]:
    rows = []
    for number in range(1, cluster.machines + 1):
        running = namespaces.running(layout.machine(number))
        block = cluster.addresses
        rows.append(
            {
                "name": machine_name(number),
                "status": "not running" if running is None else "not ready",
                "process": None if running is None else running.pid,
                "address": None if block is None else str(block.machine(number)),
            }
        )
    return rows


async def _ask(api: ClusterApi, found: dict[str, Any]) -> None:
    try:
        nodes = await api.get("/api/v1/nodes")
        pods = await api.get("/api/v1/pods")
    except (ApiAway, ApiRefused) as error:
        found["api"] = str(error)
        return
    ready = {
        node["metadata"]["name"] for node in nodes["items"] if readiness.ready(node)
    }
    for row in found["machines"]:
        if row["process"] is not None and row["name"] in ready:
            row["status"] = "ready"
    found["pods"] = [
        {
            "namespace": pod["metadata"]["namespace"],
            "name": pod["metadata"]["name"],
            "status": pod["status"].get("phase"),
            "machine": pod["spec"].get("nodeName"),
            "address": pod["status"].get("podIP"),
        }
        for pod in pods["items"]
    ]
