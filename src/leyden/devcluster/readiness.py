"""Waiting until a cluster can be used: the API answers, machines are ready."""

import asyncio
import datetime as dt
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from leyden.devcluster import namespaces, storage
from leyden.devcluster.api import Api, ApiAway, ApiRefused, Object
from leyden.errors import SetupError

_ANSWERS_WITHIN_S: Final = 180.0
_READY_WITHIN_S: Final = 180.0
_LOOK_AGAIN_S: Final = 0.1
_EVER: Final = dt.datetime.min.replace(tzinfo=dt.UTC)
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_ACCOUNT: Final = "/api/v1/namespaces/default/serviceaccounts/default"


async def settle(api: Api, control_plane: Path) -> None:
    """Wait for the API, and create what every cluster has."""
    await _until(
        api.ready,
        [control_plane],
        "the API server does not respond; its log is "
        f"{control_plane / 'kube-apiserver.log'}",
        within_s=_ANSWERS_WITHIN_S,
    )
    for path, value in storage.objects():
        await api.create(path, value)

    async def has_begun() -> bool:
        return await _found(api, _ACCOUNT) is not None

    # Without that account the first pod that somebody creates is refused.
    await _until(
        has_begun,
        [control_plane],
        "the controllers do not begin; their log is "
        f"{control_plane / 'kube-controller-manager.log'}",
        within_s=_ANSWERS_WITHIN_S,
    )


async def join(
    api: Api,
    control_plane: Path,
    machine: Path,
    *,
    since: dt.datetime,
    heard_since: dt.datetime,
) -> None:
    """Wait until a machine is ready for pods, and is heard.

    It has said that it is ready since it was started; and it was heard of since this
    control plane was, for it says the former every five minutes only.
    """

    async def is_ready() -> bool:
        node = await _found(api, f"/api/v1/nodes/{machine.name}")
        lease = await _found(api, f"{_LEASES}/{machine.name}")
        if node is None or lease is None:
            return False
        return ready(node, since=since) and heard(lease, since=heard_since)

    await _until(
        is_ready,
        [control_plane, machine],
        f"{machine.name} runs but is not ready; its logs are in {machine / 'var/log'}",
        within_s=_READY_WITHIN_S,
    )


def ready(node: Object, *, since: dt.datetime = _EVER) -> bool:
    """Return whether the kubelet of a node says that it is ready, and since a time.

    What it said before it was stopped is believed for a while.
    """
    for each in node["status"].get("conditions", []):
        if each["type"] == "Ready" and each["status"] == "True":
            said = dt.datetime.fromisoformat(each["lastHeartbeatTime"])
            return said >= since.replace(microsecond=0)
    return False


def heard(lease: Object, *, since: dt.datetime) -> bool:
    """Return whether the kubelet that has a lease has renewed it since a time."""
    renewed = lease["spec"].get("renewTime")
    return renewed is not None and dt.datetime.fromisoformat(renewed) >= since


async def _until(
    done: Callable[[], Awaitable[bool]],
    running: Sequence[Path],
    trouble: str,
    *,
    within_s: float,
) -> None:
    """Wait until something is so; refuse where who should do it has ended."""
    deadline = time.monotonic() + within_s
    while not await done():
        for folder in running:
            if namespaces.running(folder) is None:
                raise SetupError(
                    f"{folder.name} did not start: {namespaces.last_words(folder)}"
                )
        if time.monotonic() > deadline:
            raise SetupError(trouble)
        await asyncio.sleep(_LOOK_AGAIN_S)


async def _found(api: Api, path: str) -> Object | None:
    try:
        return await api.get(path)
    except (ApiAway, ApiRefused):
        return None
