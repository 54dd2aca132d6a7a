"""A policy of the API server for our right to change volumes.

A role can't limit that right: volumes belong to no namespace. So the API server lets
our account change nothing but the reclaim policy, and only of volumes that are claimed
from the nodes' namespace.
"""

from collections.abc import Iterator
from typing import Any, Final

_API: Final = "admissionregistration.k8s.io/v1"
# What else of a volume can be changed once it exists. The rest is immutable.
_IMMUTABLE: Final = (
    *("metadata.?labels", "metadata.?annotations", "metadata.?finalizers"),
    *("metadata.?ownerReferences", "spec.?capacity", "spec.?accessModes"),
    *("spec.?claimRef", "spec.?mountOptions", "spec.?nodeAffinity"),
    *("spec.?storageClassName", "spec.?volumeMode", "spec.?volumeAttributesClassName"),
)


def manifests(name: str, *, namespace: str, account: str) -> Iterator[dict[str, Any]]:
    """Yield the policy for an account, and its binding."""
    yield {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": spec(namespace=namespace, account=account),
    }
    yield {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def spec(*, namespace: str, account: str) -> dict[str, Any]:
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
