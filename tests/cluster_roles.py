"""What the manifests of deploy/ grant in a cluster: what a start checks, and more.

A role can't limit the right to change volumes, since they belong to no namespace. So a
policy of the API server lets our account change nothing but the reclaim policy, and
only of volumes that are claimed from the nodes' namespace.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from leyden.nodes.runtimes.kubernetes.permissions import (
    OF_THE_CLUSTER,
    OF_THE_NAMESPACE,
    RESTRICTED,
    Permission,
)

_AUTHORIZATION: Final = "rbac.authorization.k8s.io"
_NAME: Final = "leyden-nodes"
_ACCOUNT: Final = "leyden"
# Optional: without it, nodes' memory and CPU usage is unknown (`leyden doctor` says
# so).
OF_METRICS: Final = (Permission(kind="pods", verbs=("list",), group="metrics.k8s.io"),)
# Optional: without it, pods' events don't say why lnd ended.
OF_EVENTS: Final = (Permission(kind="events", verbs=("create",)),)
_API: Final = "admissionregistration.k8s.io/v1"
# What else of a volume can be changed once it exists. The rest is immutable.
_IMMUTABLE: Final = (
    *("metadata.?labels", "metadata.?annotations", "metadata.?finalizers"),
    *("metadata.?ownerReferences", "spec.?capacity", "spec.?accessModes"),
    *("spec.?claimRef", "spec.?mountOptions", "spec.?nodeAffinity"),
    *("spec.?storageClassName", "spec.?volumeMode", "spec.?volumeAttributesClassName"),
)


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
    of_the_role = (*OF_THE_NAMESPACE, *OF_METRICS, *OF_EVENTS)
    for kind, some in (("Role", of_the_role), ("ClusterRole", OF_THE_CLUSTER)):
        namespaced = {"namespace": namespace} if kind == "Role" else {}
        metadata = {"name": _NAME, **namespaced}
        yield {
            "apiVersion": f"{_AUTHORIZATION}/v1",
            "kind": kind,
            "metadata": metadata,
            "rules": rules(some),
        }
        yield {
            "apiVersion": f"{_AUTHORIZATION}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _AUTHORIZATION, "kind": kind, "name": _NAME},
            "subjects": [subject],
        }
    yield from _volume_policy(
        _NAME, namespace=namespace, account=f"system:serviceaccount:{own}:{_ACCOUNT}"
    )


def rules(permissions: Sequence[Permission]) -> list[dict[str, Any]]:
    """Return the rules of a role."""
    return [
        {
            "apiGroups": [each.group],
            "resources": [each.kind],
            "verbs": list(each.verbs),
        }
        for each in permissions
    ]


def _volume_policy(
    name: str, *, namespace: str, account: str
) -> Iterator[dict[str, Any]]:
    """Yield the policy for an account, and its binding."""
    yield {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": volume_policy_spec(namespace=namespace, account=account),
    }
    yield {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def volume_policy_spec(*, namespace: str, account: str) -> dict[str, Any]:
    """Return the content of the policy."""
    claimed = f"oldObject.spec.?claimRef.?namespace.orValue('') == '{namespace}'"
    unchanged = " && ".join(f"object.{each} == oldObject.{each}" for each in _IMMUTABLE)
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["UPDATE"],
                    "resources": ["persistentvolumes"],
                }
            ]
        },
        "matchConditions": [
            {
                "name": "leyden",
                "expression": f"request.userInfo.username == '{account}'",
            }
        ],
        "validations": [
            {
                "expression": claimed,
                "message": f"only volumes that are claimed in {namespace}",
            },
            {"expression": unchanged, "message": "only persistentVolumeReclaimPolicy"},
        ],
    }
