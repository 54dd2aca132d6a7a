"""The companion beside each lnd: a container of its pod, and what leads it to us.

It is a sidecar as Kubernetes has them (an init container that keeps running): it
starts before lnd, is started again by the kubelet, and is ended after lnd, whose last
backup it still reports.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from leyden.domain.nodes import Node
from leyden.lnd import home
from leyden.lnd.chains import Chain
from leyden.runtimes.kubernetes.api import Api
from leyden.runtimes.kubernetes.kinds import Thing
from leyden.values import Struct

NAME: Final = "companion"
CONFIG: Final = "leyden-companion"  # the ConfigMap of where we are
VOLUME: Final = "companion"
AUDIENCE: Final = "leyden"  # what its token is good for
_FROM: Final = "/etc/companion"
_TOKEN_S: Final = 3600
_MEMORY: Final = 64 << 20
# What holds each container in the nodes' namespace.
CONTAINER_SECURITY: Final[Mapping[str, Any]] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


class Companion(Struct, frozen=True, kw_only=True):
    """The companion of every node, and how it reaches the platform."""

    image: str
    url: str  # https://HOST:PORT
    name: str  # in the certificate that is shown there
    anchors_pem: str  # who vouches for it

    def container(self, node: Node, chain: Chain, *, lnd_home: str) -> dict[str, Any]:
        """Return its container, which shares lnd's volume and nothing else of lnd's."""
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

    async def publish(self, api: Api) -> None:
        """Write where we are, for companions that run as well as for new ones."""
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG},
            "data": {"url": self.url, "name": self.name, "ca.pem": self.anchors_pem},
        }
        if not await api.replace(api.path("configmaps", CONFIG), manifest):
            await api.create(api.path("configmaps"), manifest, Thing)


def volume() -> dict[str, Any]:
    """Return the volume with the pod's token, and where we are."""
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
