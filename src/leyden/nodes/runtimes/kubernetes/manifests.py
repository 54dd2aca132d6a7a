"""The manifests of one node's objects: pod, claim, secret and service.

All have the same name and label, so that one selector shows a node's objects:
`kubectl get pods,pvc,secrets,services -l leyden/node=ID`.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from leyden.nodes.lnd import home
from leyden.nodes.lnd.chains import Chain
from leyden.nodes.lnd.home import Tls
from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.kubernetes import companions, pods
from leyden.nodes.runtimes.kubernetes.companions import CONTAINER_SECURITY, Companion
from leyden.nodes.runtimes.kubernetes.kinds import COPIER_LABEL, HELD, NODE_LABEL
from leyden.nodes.runtimes.local.placement import MIB, Share

Manifest = dict[str, Any]

CONFIG_FOLDER: Final = Path(
    "/etc/lnd"
)  # lnd's configuration and certificate, read-only
HOME: Final = "/home/lnd"
# lnd's default folder. With another one, lnd ignores the configured path of its
# certificate and creates its own (observed).
_LND_HOME: Final = f"{HOME}/.lnd"
_MOUNTS: Final = [
    {"name": "home", "mountPath": _LND_HOME},
    {"name": "config", "mountPath": str(CONFIG_FOLDER), "readOnly": True},
]
TOKEN: Final = "copier-token"  # noqa: S105  the name of a file
_COPIER_MEMORY: Final = 128 * MIB
_USER: Final = 1000
_MANAGER: Final = "leyden"
# To the cluster's autoscaler: an lnd that starts again waits for its owner's password.
_STAYS: Final = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
_LEAST_REQUEST: Final = 128 * MIB
_LOST: Final = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")


def name(node: Node) -> str:
    """Return the name of a node's objects; only one pod of a name can exist."""
    return f"node-{node.id.lower()}"


def labels(node_id: str) -> Mapping[str, str]:
    """Return the labels of a node's objects."""
    return {
        "app.kubernetes.io/name": "lnd",
        "app.kubernetes.io/managed-by": _MANAGER,
        NODE_LABEL: node_id,
    }


def service(node: Node, *, ports: Mapping[str, int]) -> Manifest:
    """Return a node's service: a stable address, usable before the pod is ready."""
    spec: Manifest = {
        "type": "ClusterIP",
        "selector": {NODE_LABEL: node.id},
        "publishNotReadyAddresses": True,
        "ports": [{"name": name, "port": port} for name, port in ports.items()],
    }
    if node.host:  # it was deleted by hand: request the same address again
        spec["clusterIP"] = node.host
    return {**_object("Service", node), "spec": spec}


def claim(node: Node, *, storage_class: str, size_gib: int) -> Manifest:
    """Return a node's volume claim.

    It has no owner reference, so that deleting other objects never deletes it.
    """
    return {
        **_object("PersistentVolumeClaim", node),
        "spec": {
            "accessModes": ["ReadWriteOncePod"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": f"{size_gib}Gi"}},
        },
    }


def secret(node: Node, files: Mapping[str, bytes], tls: Tls) -> Manifest:
    """Return a node's secret: the files that its lnd reads at its start."""
    content = {
        **files,
        home.CERTIFICATE: tls.chain_pem,
        home.PRIVATE_KEY: tls.key_pem,
    }
    return {
        **_object("Secret", node),
        "type": "Opaque",
        "data": {
            key: base64.b64encode(value).decode() for key, value in content.items()
        },
    }


def pod(
    node: Node,
    *,
    image: str,
    share: Share,
    grace_s: int,
    rest_port: int,
    grpc_port: int,
    annotations: Mapping[str, str],
    priority_class: str = "",
    companion: Companion | None = None,
    chain: Chain = Chain.MAINNET,
) -> Manifest:
    """Return a node's pod, which only the platform restarts; it has no privileges.

    It tolerates a lost machine forever: only the machine's kubelet knows whether the
    lnd has ended.
    """
    made = _object("Pod", node)
    made["metadata"]["finalizers"] = [HELD]
    made["metadata"]["annotations"] = {**_STAYS, **annotations}
    made["spec"] = {
        **_spec(node),
        "terminationGracePeriodSeconds": grace_s,
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoExecute"} for key in _LOST
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {
                    "matchLabels": {"app.kubernetes.io/managed-by": _MANAGER}
                },
            }
        ],
        "containers": [_lnd(image, share, rest_port, grpc_port)],
    }
    if companion is not None:
        spec = made["spec"]
        spec["initContainers"] = [
            companion.container(node, chain, lnd_home=_LND_HOME),
        ]
        spec["volumes"].append(companions.volume())
    if priority_class:
        made["spec"]["priorityClassName"] = priority_class
    return made


def copier(node: Node, *, image: str, rest_port: int) -> Manifest:
    """Return the copier pod, which serves a node's volume under the node's name."""
    made = _object("Pod", node)
    made["metadata"]["labels"] = {**labels(node.id), COPIER_LABEL: "true"}
    made["spec"] = {
        **_spec(node),
        "terminationGracePeriodSeconds": 1,
        "containers": [
            {
                "name": pods.LND,
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "args": [
                    "copy",
                    f"-home={_LND_HOME}",
                    f"-listen=:{rest_port}",
                    f"-certificate={CONFIG_FOLDER / home.CERTIFICATE}",
                    f"-key={CONFIG_FOLDER / home.PRIVATE_KEY}",
                    f"-token={CONFIG_FOLDER / TOKEN}",
                ],
                "ports": [{"name": "rest", "containerPort": rest_port}],
                "resources": {"limits": {"memory": str(_COPIER_MEMORY)}},
                "securityContext": CONTAINER_SECURITY,
                "volumeMounts": _MOUNTS,
            }
        ],
    }
    return made


def scheduled(pod: Manifest, scheduling: Manifest) -> Manifest:
    """Return a pod with the fields that say where nodes run, beside its tolerations."""
    spec = pod["spec"]
    tolerations = [*spec.get("tolerations", ()), *scheduling.get("tolerations", ())]
    return {**pod, "spec": {**spec, **scheduling, "tolerations": tolerations}}


def owned(node: Node, pod: Manifest, *, claim_uid: str) -> Manifest:
    """Return a pod whose controller is its node's claim, which outlives it.

    `kubectl drain` refuses pods without a controller, because nobody would start them
    again. Deleting the pod never deletes the claim; once the claim is gone, which waits
    for its pods, the cluster deletes the pod.
    """
    owner = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": name(node),
        "uid": claim_uid,
        "controller": True,
    }
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}}


def _spec(node: Node) -> Manifest:
    """Return the spec that both kinds of pods share: the volume, and no privileges."""
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            **pod_security(),
            "fsGroup": _USER,
            "fsGroupChangePolicy": "OnRootMismatch",
        },
        "volumes": [
            {"name": "home", "persistentVolumeClaim": {"claimName": name(node)}},
            {
                "name": "config",
                "secret": {"secretName": name(node), "defaultMode": 0o440},
            },
        ],
    }


def _lnd(image: str, share: Share, rest_port: int, grpc_port: int) -> Manifest:
    return {
        "name": pods.LND,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": [f"--configfile={CONFIG_FOLDER / home.CONF}"],
        "env": [
            {"name": key, "value": value}
            for key, value in {"HOME": HOME, **share.environment}.items()
        ],
        "ports": [
            {"name": "rest", "containerPort": rest_port},
            {"name": "grpc", "containerPort": grpc_port},
        ],
        "resources": {
            "requests": {
                "cpu": f"{max(1, share.weight // 10)}m",
                "memory": str(max(_LEAST_REQUEST, share.memory // 4)),
            },
            "limits": {"memory": str(share.memory)},
        },
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": _MOUNTS,
    }


def pod_security() -> Manifest:
    """Return the security context of every pod of ours."""
    return {
        "runAsNonRoot": True,
        "runAsUser": _USER,
        "runAsGroup": _USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _object(kind: str, node: Node) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name(node), "labels": labels(node.id)},
    }
