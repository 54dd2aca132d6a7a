"""Nodes in pods: the cluster on this machine that `up --runtime kubernetes` runs.

The platform, its gateway and the chain stay programs of this machine. Pods reach them
at the address that this machine has in the cluster's network.
"""

from pathlib import Path
from typing import Final

from leyden.base.daemons import catalogue
from leyden.base.daemons.progress import Progress
from leyden.errors import SetupError
from leyden.nodes.runtimes.kubernetes.permissions import RESTRICTED
from leyden_workshop.devcluster import cluster as clusters
from leyden_workshop.devcluster import credentials, images, namespaces, packages
from leyden_workshop.devcluster.api import opened
from leyden_workshop.devcluster.cluster import Say
from leyden_workshop.devcluster.credentials import Credentials
from leyden_workshop.devcluster.layout import Cluster, ClusterLayout
from leyden_workshop.devcluster.storage import RETAINED_CLASS
from leyden_workshop.devnet import access

_NAMESPACE: Final = "leyden-nodes"


def check(home: Path, runtime: str) -> str:
    """Return where nodes of this home run: as before, or else as asked for.

    Raise SetupError if it was made for the other: nodes do not move by an option.
    """
    try:
        before = "local" if access.load(home).cluster is None else "kubernetes"
    except SetupError:
        return runtime or "local"
    if runtime and runtime != before:
        raise SetupError(
            f"--runtime: the nodes of {home} run with --runtime {before}; choose "
            "another folder with --home for a platform of the other kind"
        )
    return before


async def start(
    home: Path, *, companion_port: int, cache: Path, progress: Progress, say: Say
) -> access.ClusterAccess:
    """Start the cluster, or what is missing of it, with a namespace for nodes."""
    layout = ClusterLayout.of(home)
    parts = await clusters.up(
        layout,
        machines=None,
        pods=True,
        cache=cache,
        progress=progress,
        say=lambda line: say(f"cluster: {line}"),
    )
    decided = layout.read()
    if decided is None or decided.addresses is None:
        raise SetupError(f"{layout.folder} has a cluster without pods; remove it")
    await _create_namespace(layout, decided)
    host = str(decided.addresses.host)
    version = catalogue.find("lnd")[1].version
    return access.ClusterAccess(
        host=host,
        kubeconfig=str(layout.kubeconfig),
        namespace=_NAMESPACE,
        storage_class=RETAINED_CLASS,
        images=f"v{version}={parts.by_digest(images.lnd(version))}",
        companion_image=parts.by_digest(images.COMPANION),
        companion_url=f"https://{host}:{companion_port}",
    )


def is_running(home: Path) -> bool:
    """Return whether the cluster of a home runs."""
    return namespaces.running(ClusterLayout.of(home).control_plane) is not None


async def stop(home: Path, *, cache: Path, say: Say) -> None:
    """Stop the cluster and all its pods."""
    await clusters.down(
        ClusterLayout.of(home),
        packages.packages_in(cache),
        lambda line: say(f"cluster: {line}"),
    )


async def _create_namespace(layout: ClusterLayout, decided: Cluster) -> None:
    own = Credentials(layout.authority)
    async with opened(
        credentials.server(decided), own.authority.certificate, own.pair("admin")
    ) as api:
        await api.create(
            "/api/v1/namespaces",
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": _NAMESPACE, "labels": RESTRICTED},
            },
        )
