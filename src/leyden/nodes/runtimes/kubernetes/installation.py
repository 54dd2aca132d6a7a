"""Check the cluster and the nodes' namespace before anything is created in it.

1. The cluster's version supports what keeps nodes safe.
2. Our account has every permission that is needed, by verb and kind.
3. The namespace exists, and has no pods, claims or services of others.
4. Volumes of the storage class are retained when their claims are deleted.
5. A ConfigMap in the namespace marks it as this installation's.

A process that only serves the API creates nothing, and may not: it checks what it may,
and whose the namespace is.
"""

from typing import Final

from leyden.errors import SetupError
from leyden.nodes.runtimes.kubernetes import permissions
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi
from leyden.nodes.runtimes.kubernetes.kinds import (
    NODE_LABEL,
    ClusterRelease,
    ConfigMap,
    StorageClass,
    Thing,
)

# The first version whose scheduler enforces ReadWriteOncePod.
OLDEST: Final = (1, 30)  # as the chart
_MARK: Final = "leyden-installation"
_ID: Final = "id"
_KINDS: Final = ("pods", "persistentvolumeclaims", "services")
# A service that some clusters create in each namespace.
_NOT_OURS: Final = frozenset({"kubernetes"})
_SHOWN: Final = 3


async def check(
    api: KubernetesApi, *, storage_class: str, serves_only: bool = False
) -> str:
    """Return the namespace's uid; raise SetupError for an unsuitable cluster."""
    await _check_version(api)
    needed = permissions.SERVING if serves_only else permissions.EVERY
    if missing := await permissions.missing(api, needed):
        raise SetupError(
            f"kubeconfig: {api.server} does not allow us to: {', '.join(missing)}. "
            "Apply deploy/kubernetes/rbac.yaml with your names; with the chart, run "
            "commands for the cluster in the pod of a worker, which may do that"
        )
    found = await api.find(f"/api/v1/namespaces/{api.namespace}", Thing)
    if found is None:
        raise SetupError(
            f"kubernetes_namespace: no namespace {api.namespace}; create one for nodes "
            f"only: kubectl create namespace {api.namespace}"
        )
    if found.metadata.is_deleted:
        raise SetupError(f"kubernetes_namespace: {api.namespace} is being deleted")
    if not serves_only:
        await _refuse_others(api)
        await _check_class(api, storage_class)
    return found.metadata.uid


async def mark(
    api: KubernetesApi, installation: str, *, serves_only: bool = False
) -> None:
    """Mark the namespace as this installation's; raise if it is another's.

    A process that only serves the API leaves the mark to the workers.
    """
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _MARK},
        "data": {_ID: installation},
    }
    path = api.path("configmaps")
    if not serves_only and await api.create(path, manifest, Thing) is not None:
        return
    found = await api.find(api.path("configmaps", _MARK), ConfigMap)
    if found is None and serves_only:
        return
    if found is None or found.data.get(_ID) != installation:
        raise SetupError(
            f"kubernetes_namespace: {api.namespace} belongs to another Leyden "
            "installation, with a different database; choose another namespace"
        )


async def _check_version(api: KubernetesApi) -> None:
    release = await api.find("/version", ClusterRelease) or ClusterRelease(
        major="0", minor="0"
    )
    if not is_supported(release):
        oldest = ".".join(map(str, OLDEST))
        raise SetupError(
            f"kubeconfig: {api.server} is Kubernetes {release.major}.{release.minor}; "
            f"nodes need {oldest} or newer, which keeps a volume to one pod"
        )


def is_supported(release: ClusterRelease) -> bool:
    """Return whether a cluster's version is supported; a minor may be like 28+."""
    numbers = (release.major, release.minor.rstrip("+"))
    if not all(each.isascii() and each.isdigit() for each in numbers):
        return False
    return tuple(map(int, numbers)) >= OLDEST


async def _refuse_others(api: KubernetesApi) -> None:
    found = []
    for plural in _KINDS:
        objects, _ = await api.list_(api.path(plural), Thing)
        found += [
            f"{plural}/{each.metadata.name}"
            for each in objects
            if NODE_LABEL not in each.metadata.labels
            and each.metadata.name not in _NOT_OURS
        ]
    if found:
        shown = ", ".join(found[:_SHOWN])
        raise SetupError(
            f"kubernetes_namespace: {api.namespace} has {len(found)} other objects, "
            f"such as {shown}; choose a namespace for nodes only"
        )


async def _check_class(api: KubernetesApi, name: str) -> None:
    found = await api.find(
        f"/apis/storage.k8s.io/v1/storageclasses/{name}", StorageClass
    )
    if found is None:
        raise SetupError(f"kubernetes_storage_class: no storage class {name!r}")
    if found.reclaim_policy != "Retain":
        raise SetupError(
            f"kubernetes_storage_class: {name}'s reclaimPolicy is "
            f"{found.reclaim_policy}; it must be Retain, or deleting a claim by "
            "mistake loses its node's money"
        )
