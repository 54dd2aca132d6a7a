"""The companion of each lnd: a container in its pod that reports to the platform.

It is a native sidecar of Kubernetes (an init container that keeps running): it starts
before lnd, is restarted by the kubelet, and ends after lnd, so that it can still report
lnd's last backup.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from leyden.nodes.lnd import home
from leyden.nodes.lnd.chains import Chain
from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi
from leyden.nodes.runtimes.kubernetes.kinds import Thing
from leyden.values import Struct

NAME: Final = "companion"
CONFIG: Final = "leyden-companion"  # the ConfigMap with the platform's address
VOLUME: Final = "companion"
AUDIENCE: Final = "leyden"  # of its token
_FROM: Final = "/etc/companion"
_TOKEN_S: Final = 3600
_MEMORY: Final = 64 << 20
# The security context of each container in the nodes' namespace.
CONTAINER_SECURITY: Final[Mapping[str, Any]] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


class Companion(Struct, frozen=True, kw_only=True):
    """The companion's container, and the platform's address and certificate."""

    image: str
    url: str  # https://HOST:PORT
    name: str  # in the platform's certificate
    anchors_pem: str  # the authorities to trust

    def container(self, node: Node, chain: Chain, *, lnd_home: str) -> dict[str, Any]:
        """Return the container, which shares lnd's volume and nothing else of lnd."""
        folder = Path(lnd_home)
        return {
            "name": NAME,
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "restartPolicy": "Always",
            "args": [
                f"-node={node.id}",
                f"-home={folder}",
                f"-backup={home.channel_backup(folder, chain)}",
                f"-log={home.log_file(folder, chain)}",
                f"-from={_FROM}",
            ],
            "resources": {
                "requests": {"cpu": "1m", "memory": str(_MEMORY // 4)},
                "limits": {"memory": str(_MEMORY)},
            },
            "securityContext": CONTAINER_SECURITY,
            "volumeMounts": [
                {"name": "home", "mountPath": lnd_home},
                {"name": VOLUME, "mountPath": _FROM, "readOnly": True},
            ],
        }

    async def publish(self, api: KubernetesApi) -> None:
        """Publish the platform's address to running and future companions."""
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG},
            "data": {"url": self.url, "name": self.name, "ca.pem": self.anchors_pem},
        }
        if not await api.replace(api.path("configmaps", CONFIG), manifest):
            await api.create(api.path("configmaps"), manifest, Thing)


def volume() -> dict[str, Any]:
    """Return the volume with the pod's token and the platform's address."""
    token = {
        "path": "token",
        "audience": AUDIENCE,
        "expirationSeconds": _TOKEN_S,
    }
    return {
        "name": VOLUME,
        "projected": {
            "defaultMode": 0o440,
            "sources": [
                {"serviceAccountToken": token},
                {"configMap": {"name": CONFIG}},
            ],
        },
    }
