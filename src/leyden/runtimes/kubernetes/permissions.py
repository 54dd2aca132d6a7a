"""What the platform must be allowed to do in a cluster, and what of that it is not.

The same table makes the manifest of roles (deploy/kubernetes/rbac.yaml), so that what
is asked for is what is checked at the start. What is optional is in the manifest, and
no start fails without it.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Final

from leyden.runtimes.kubernetes.api import Api
from leyden.runtimes.kubernetes.kinds import Review
from leyden.values import Struct

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_AUTHORIZATION: Final = "rbac.authorization.k8s.io"
_NAME: Final = "leyden-nodes"
_ACCOUNT: Final = "leyden"
# Whoever may create pods may create one that is root on its machine: not there. Those
# of nodes are of the strictest kind.
RESTRICTED: Final = {"pod-security.kubernetes.io/enforce": "restricted"}


class Permission(Struct, frozen=True, kw_only=True):
    """What is done with objects of a kind."""

    kind: str  # in the plural; a part of one after a slash
    verbs: Sequence[str]
    group: str = ""


# In the namespace of nodes alone. Secrets are written and never read.
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
# Optional: without it memory and processor of nodes are not known (the doctor says so).
OF_METRICS: Final = (Permission(kind="pods", verbs=("list",), group="metrics.k8s.io"),)
# Of the whole cluster: which machines are lost; volumes, to let those go whose nodes'
# time to be brought back is over; whose tokens companions show.
OF_THE_CLUSTER: Final = (
    Permission(kind="nodes", verbs=("get", "list", "watch")),
    Permission(kind="persistentvolumes", verbs=("get", "patch")),
    Permission(kind="storageclasses", verbs=("get",), group="storage.k8s.io"),
    Permission(kind="tokenreviews", verbs=("create",), group="authentication.k8s.io"),
)


async def missing(api: Api) -> list[str]:
    """List what is not allowed: `create pods in lnds`, each verb and kind by name."""
    wanted = [
        (verb, each, namespace)
        for some, namespace in (
            (OF_THE_NAMESPACE, api.namespace),
            (OF_THE_CLUSTER, ""),
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


async def _is_allowed(api: Api, verb: str, asked: Permission, namespace: str) -> bool:
    kind, _, part = asked.kind.partition("/")
    attributes = {"verb": verb, "group": asked.group, "resource": kind}
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
    answer = await api.create(_REVIEWS, review, Review)
    return answer is not None and answer.status.allowed


def manifests(namespace: str, own: str) -> Iterator[dict[str, Any]]:
    """Yield the namespaces of nodes and of the platform, its account, and its roles."""
    for each, labels in ((namespace, {"labels": RESTRICTED}), (own, {})):
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": each, **labels},
        }
    subject = {"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": own}
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": _ACCOUNT, "namespace": own},
    }
    of_the_role = (*OF_THE_NAMESPACE, *OF_METRICS)
    for kind, some in (("Role", of_the_role), ("ClusterRole", OF_THE_CLUSTER)):
        place = {"namespace": namespace} if kind == "Role" else {}
        metadata = {"name": _NAME, **place}
        yield {
            "apiVersion": f"{_AUTHORIZATION}/v1",
            "kind": kind,
            "metadata": metadata,
            "rules": [
                {
                    "apiGroups": [each.group],
                    "resources": [each.kind],
                    "verbs": list(each.verbs),
                }
                for each in some
            ],
        }
        yield {
            "apiVersion": f"{_AUTHORIZATION}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _AUTHORIZATION, "kind": kind, "name": _NAME},
            "subjects": [subject],
        }
