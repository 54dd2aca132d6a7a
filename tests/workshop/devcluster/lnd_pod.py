"""The objects of one lnd in a pod: claim, secret, service, pod."""

from collections.abc import Sequence
from typing import Any

from leyden_workshop.devcluster import images
from leyden_workshop.devcluster.certificates import Pair

CONFIGURATION = """\
[Application Options]
tlscertpath=/etc/lnd/tls.cert
tlskeypath=/etc/lnd/tls.key
restlisten=0.0.0.0:8080
rpclisten=0.0.0.0:10009
nolisten=true
[Bitcoin]
bitcoin.simnet=true
bitcoin.node=neutrino
"""


def claim(name: str, *, storage_class: str = "local") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOncePod"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def pod(name: str, version: str, machine: str) -> dict[str, Any]:
    """Nothing in it can be written but its volume, and it is nobody special."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"node": name}},
        "spec": {
            "restartPolicy": "Never",
            "nodeSelector": {"kubernetes.io/hostname": machine},
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 20,
            "securityContext": {
                "runAsUser": 1000,
                "runAsGroup": 1000,
                "fsGroup": 1000,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "lnd",
                    "image": images.lnd(version),
                    "imagePullPolicy": "Never",
                    "args": ["--configfile=/etc/lnd/lnd.conf"],
                    "env": [{"name": "HOME", "value": "/home/lnd"}],
                    "resources": {
                        "requests": {"cpu": "5m", "memory": "100Mi"},
                        "limits": {"memory": "1Gi"},
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "runAsNonRoot": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": [
                        {"name": "home", "mountPath": "/home/lnd/.lnd"},
                        {"name": "config", "mountPath": "/etc/lnd", "readOnly": True},
                    ],
                }
            ],
            "volumes": [
                {"name": "home", "persistentVolumeClaim": {"claimName": name}},
                {
                    "name": "config",
                    "secret": {"secretName": name, "defaultMode": 0o440},
                },
            ],
        },
    }


def objects(
    name: str, version: str, machine: str, shown: Pair, **kind: str
) -> Sequence[Any]:
    """Return all of it; `shown` is the certificate that lnd is to show."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": {
            "lnd.conf": CONFIGURATION,
            "tls.cert": shown.certificate.read_text(),
            "tls.key": shown.key.read_text(),
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "selector": {"node": name},
            "publishNotReadyAddresses": True,
            "ports": [{"name": "rest", "port": 8080}],
        },
    }
    return (secret, claim(name, **kind), service, pod(name, version, machine))
