"""Volumes: what the provisioner must do for a claim or a volume, and its objects.

A volume is a folder on the machine that the scheduler chose for the first pod of its
claim. The provisioner removes only folders that it has created.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from leyden_workshop.devcluster.credentials import PROVISIONER
from leyden_workshop.devcluster.machine import VOLUMES

NAME: Final = "leyden.invalid/local"
DEFAULT_CLASS: Final = "local"
RETAINED_CLASS: Final = "local-retained"
_CHOSEN: Final = "volume.kubernetes.io/selected-node"
_MADE_BY: Final = "pv.kubernetes.io/provisioned-by"
_IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
_STORAGE: Final = "storage.k8s.io/v1"
_RBAC: Final = "rbac.authorization.k8s.io"
_MACHINE: Final = re.compile(r"machine-\d+")  # its name becomes part of a path

Object = dict[str, Any]


def volume_name(claim: Object) -> str:
    """Return the name of a claim's volume; a later claim of that name has another."""
    return f"pvc-{claim['metadata']['uid']}"


def wanting(claim: Object) -> str | None:
    """Return the machine on which a claim needs a volume of ours; None otherwise."""
    annotations = claim["metadata"].get("annotations", {})
    spec = claim["spec"]
    if spec.get("volumeName") or claim["metadata"].get("deletionTimestamp"):
        return None
    if spec.get("storageClassName") not in {DEFAULT_CLASS, RETAINED_CLASS}:
        return None
    return _machine(annotations.get(_CHOSEN, ""))


def volume(claim: Object, machine: str) -> Object:
    """Return the volume object for a claim."""
    metadata, spec = claim["metadata"], claim["spec"]
    named = spec["storageClassName"]
    name = volume_name(claim)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {_MADE_BY: NAME}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "volumeMode": "Filesystem",
            "storageClassName": named,
            "persistentVolumeReclaimPolicy": _policy(named),
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
            "local": {"path": str(VOLUMES / name)},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {
                                    "key": "kubernetes.io/hostname",
                                    "operator": "In",
                                    "values": [machine],
                                }
                            ]
                        }
                    ]
                }
            },
        },
    }


def to_remove(found: Object) -> str | None:
    """Return the machine from which to remove a volume; None if it stays.

    It must be ours, released by its claim, and have the reclaim policy `Delete`.
    """
    spec = found["spec"]
    if found["metadata"].get("annotations", {}).get(_MADE_BY) != NAME:
        return None
    if found["status"].get("phase") != "Released":
        return None
    if spec.get("persistentVolumeReclaimPolicy") != "Delete":
        return None
    terms = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return _machine(terms[0]["matchExpressions"][0]["values"][0])


def folder(cluster: Path, machine: str, name: str) -> Path:
    """Return the folder of a volume on this host."""
    return cluster / machine / VOLUMES.relative_to("/") / name


def objects() -> Iterator[tuple[str, Object]]:
    """Yield the objects that the provisioner needs, each with its API path."""
    for name in (DEFAULT_CLASS, RETAINED_CLASS):
        by_default = {_IS_DEFAULT: "true"} if name == DEFAULT_CLASS else {}
        yield (
            f"/apis/{_STORAGE}/storageclasses",
            {
                "apiVersion": _STORAGE,
                "kind": "StorageClass",
                "metadata": {"name": name, "annotations": by_default},
                "provisioner": NAME,
                "reclaimPolicy": _policy(name),
                "volumeBindingMode": "WaitForFirstConsumer",
            },
        )
    rules = [
        {
            "apiGroups": [""],
            "resources": ["persistentvolumeclaims"],
            "verbs": ["get", "list", "watch"],
        },
        {
            "apiGroups": [""],
            "resources": ["persistentvolumes"],
            "verbs": ["get", "list", "watch", "create", "delete"],
        },
    ]
    yield (
        f"/apis/{_RBAC}/v1/clusterroles",
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": PROVISIONER},
            "rules": rules,
        },
    )
    yield (
        f"/apis/{_RBAC}/v1/clusterrolebindings",
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": PROVISIONER},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": PROVISIONER},
            "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": PROVISIONER}],
        },
    )


def _policy(name: str) -> str:
    return "Delete" if name == DEFAULT_CLASS else "Retain"


def _machine(name: str) -> str | None:
    return name if _MACHINE.fullmatch(name) else None
