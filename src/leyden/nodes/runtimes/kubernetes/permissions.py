"""The permissions that the platform needs in a cluster, and a check for missing ones.

The manifests of roles (deploy/kubernetes/rbac.yaml, and the chart) grant these, and two
that a start does not need; tests compare them with this table.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from leyden.nodes.runtimes.kubernetes.api import KubernetesApi
from leyden.nodes.runtimes.kubernetes.kinds import TokenReview
from leyden.values import Struct

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
# Permission to create pods would allow one that is root on its machine, so the nodes'
# namespace enforces the strictest pod security standard.
RESTRICTED: Final = {"pod-security.kubernetes.io/enforce": "restricted"}


class Permission(Struct, frozen=True, kw_only=True):
    """The verbs that are needed for a kind of objects."""

    kind: str  # in the plural; a subresource after a slash
    verbs: Sequence[str]
    group: str = ""


# In the nodes' namespace only. Secrets are written and never read.
OF_THE_NAMESPACE: Final = (
    Permission(
        kind="pods", verbs=("get", "list", "watch", "create", "patch", "delete")
    ),
    Permission(kind="pods/log", verbs=("get",)),
    Permission(
        kind="persistentvolumeclaims", verbs=("get", "list", "create", "delete")
    ),
    Permission(kind="services", verbs=("get", "list", "create", "delete")),
    Permission(kind="secrets", verbs=("create", "update", "delete")),
    Permission(kind="configmaps", verbs=("get", "create", "update")),
    Permission(kind="namespaces", verbs=("get",)),
)
# In the whole cluster: machines, to notice lost ones; volumes, to delete those of nodes
# that can no longer be restored; token reviews, to identify companions.
OF_THE_CLUSTER: Final = (
    Permission(kind="nodes", verbs=("get", "list", "watch")),
    Permission(kind="persistentvolumes", verbs=("get", "patch")),
    Permission(kind="storageclasses", verbs=("get",), group="storage.k8s.io"),
    Permission(kind="tokenreviews", verbs=("create",), group="authentication.k8s.io"),
)


class Permissions(Struct, frozen=True, kw_only=True):
    """What one kind of process may do."""

    of_the_namespace: Sequence[Permission]
    of_the_cluster: Sequence[Permission]


# Of a process that looks after nodes.
EVERY: Final = Permissions(
    of_the_namespace=OF_THE_NAMESPACE, of_the_cluster=OF_THE_CLUSTER
)
# Of one that only serves the API, which strangers call: it shows logs, and identifies
# companions. It can't create anything, and knows whose namespace it is.
SERVING: Final = Permissions(
    of_the_namespace=(
        Permission(kind="pods/log", verbs=("get",)),
        Permission(kind="configmaps", verbs=("get",)),
        Permission(kind="namespaces", verbs=("get",)),
    ),
    of_the_cluster=(
        Permission(
            kind="tokenreviews", verbs=("create",), group="authentication.k8s.io"
        ),
    ),
)


async def missing(api: KubernetesApi, needed: Permissions = EVERY) -> list[str]:
    """List missing permissions by verb and kind, such as `create pods in lnds`."""
    wanted = [
        (verb, each, namespace)
        for some, namespace in (
            (needed.of_the_namespace, api.namespace),
            (needed.of_the_cluster, ""),
        )
        for each in some
        for verb in each.verbs
    ]
    allowed = await asyncio.gather(*(_is_allowed(api, *each) for each in wanted))
    return [
        f"{verb} {each.kind}{f' in {namespace}' if namespace else ''}"
        for (verb, each, namespace), well in zip(wanted, allowed, strict=True)
        if not well
    ]


async def _is_allowed(
    api: KubernetesApi, verb: str, permission: Permission, namespace: str
) -> bool:
    kind, _, part = permission.kind.partition("/")
    attributes = {"verb": verb, "group": permission.group, "resource": kind}
    if part:
        attributes["subresource"] = part
    if namespace:
        attributes["namespace"] = namespace
        if kind == "namespaces":
            attributes["name"] = namespace
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await api.create(_REVIEWS, review, TokenReview)
    return answer is not None and answer.status.allowed
