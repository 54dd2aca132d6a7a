"""Test from a pod in the nodes' namespace which addresses it can connect to.

The pod belongs to no node: it has no volume, no token and no service, and is deleted
afterwards. Its program is in the companion's image.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from leyden.base.rules.addresses import is_public
from leyden.base.settings import Settings
from leyden.errors import ClusterAway, SetupError
from leyden.nodes.runtimes.kubernetes import manifests
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi
from leyden.nodes.runtimes.kubernetes.companions import CONTAINER_SECURITY
from leyden.nodes.runtimes.kubernetes.kinds import Pod
from leyden.nodes.runtimes.kubernetes.manifests import Manifest

NAME: Final = "leyden-doctor"
_CONTAINER: Final = "try"
_WITHIN_S: Final = 60.0
_CHECK_EVERY_S: Final = 0.5
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_METADATA: Final = "169.254.169.254:80"  # of most clouds
_HTTPS: Final = 443
_POSTGRES: Final = 5432
_NOT_HELD: Final = (
    "nodes reach it: apply the NetworkPolicies of deploy/chart, or those of "
    "deploy/kubernetes/nodes-policy.yaml if the platform runs beside the cluster; they "
    "need a component that enforces them (Calico, Cilium, kube-router)"
)


async def examine(
    settings: Settings, api: KubernetesApi, scheduling: Manifest
) -> AsyncIterator[tuple[str, str]]:
    """Yield what was tried, and what to do about it; "" if it is as it should be.

    The pod runs on a machine that nodes may run on, by `scheduling`.
    """
    if not settings.companion_image:
        raise SetupError("companion_image: must be set: its program runs the test")
    companions = _address(settings.companion_url, _HTTPS)
    closed = {
        "the API server": _address(api.server, _HTTPS),
        "the cloud's metadata": _METADATA,
    }
    if settings.database.startswith("postgresql"):
        closed["the database"] = _address(settings.database, _POSTGRES)
    # A public address is open to nodes, as all others are; keep it closed elsewhere.
    closed = {what: where for what, where in closed.items() if not _is_public(where)}
    addresses = (companions, *closed.values())
    pod = manifests.scheduled(manifest(settings.companion_image, addresses), scheduling)
    found = await connections(api, pod, addresses)
    yield (
        f"companions reach the platform, at {companions}",
        ""
        if found[companions]
        else (
            "nothing responds there: check that an API server is running, and that "
            "companion_url is the address of its companion_port"
        ),
    )
    for what, where in closed.items():
        yield (
            f"nodes can't reach {what}, at {where}",
            _NOT_HELD if found[where] else "",
        )


def _address(url: str, port: int) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{parts.port or port}"


def _is_public(address: str) -> bool:
    try:
        return is_public(ip_address(urlsplit(f"//{address}").hostname or ""))
    except ValueError:
        return False  # a name: within the cluster, most likely


async def connections(
    api: KubernetesApi, pod: Manifest, addresses: Sequence[str]
) -> Mapping[str, bool]:
    """Return which HOST:PORT a pod can reach; raise ClusterAway if it does not run."""
    path = api.path("pods", NAME)
    await _gone(api, path)  # left by a command that was killed
    await api.create(api.path("pods"), pod, Pod)
    try:
        await _until(api, path, ended=True)
        query = {"container": _CONTAINER}
        words = await api.tail(api.path("pods", NAME, of="log"), query) or b""
    finally:
        await api.delete(path, grace_s=0)
    lines = (line.rpartition(" ") for line in words.decode().splitlines())
    found = {address: word == "open" for address, _, word in lines}
    if missing := [each for each in addresses if each not in found]:
        raise ClusterAway(
            f"the pod {NAME} did not report whether it reached {missing[0]}"
        )
    return found


def manifest(image: str, addresses: Sequence[str]) -> Manifest:
    """Return the pod, which is subject to the same network policies as nodes."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME, "labels": dict(manifests.labels("doctor"))},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "activeDeadlineSeconds": int(_WITHIN_S),
            "securityContext": manifests.pod_security(),
            "containers": [
                {
                    "name": _CONTAINER,
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "args": ["try", *addresses],
                    "securityContext": CONTAINER_SECURITY,
                }
            ],
        },
    }


async def _gone(api: KubernetesApi, path: str) -> None:
    if await api.delete(path, grace_s=0):
        await _until(api, path, ended=False)


async def _until(api: KubernetesApi, path: str, *, ended: bool) -> None:
    """Wait until the pod has ended, or is gone."""
    try:
        async with asyncio.timeout(_WITHIN_S):
            while pod := await api.find(path, Pod):
                if ended and pod.status.phase in _ENDED:
                    return
                await asyncio.sleep(_CHECK_EVERY_S)
    except TimeoutError:
        raise ClusterAway(
            f"the pod {NAME} did not run within {_WITHIN_S:.0f} s"
        ) from None
