"""Memory and CPU usage of pods, from the cluster's resource metrics API.

The API is served by metrics-server or a replacement. In a cluster with neither, usage
is unknown. One request fetches the usage of all pods, because ten thousand nodes are
sampled every half minute. Failures are cached as long as responses.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from leyden.errors import ClusterAway, ClusterRefused
from leyden.nodes.runtimes.kubernetes import pods
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi, decoded
from leyden.nodes.runtimes.kubernetes.kinds import (
    PodMetrics,
    PodMetricsList,
    Quantities,
)
from leyden.values import Struct

_GROUP: Final = "/apis/metrics.k8s.io/v1beta1"
# An API server waits for metrics-server, and a person's page waits for us.
_WITHIN_S: Final = 10.0
_AT_A_TIME: Final = 250  # 4 µs each; then let the event loop run
_NONE: Final = "the cluster has no resource metrics: install metrics-server"
_FORBIDDEN: Final = (
    "we may not list pods.metrics.k8s.io in %s: apply deploy/kubernetes/rbac.yaml, or "
    "upgrade the chart"
)

log = logging.getLogger(__name__)
_QUANTITY: Final = re.compile(
    r"(?P<number>\d+\.?\d*|\.\d+)(?:[eE](?P<exponent>[+-]?\d+)|(?P<suffix>[A-Za-z]+))?",
    re.ASCII,
)
_SUFFIXES: Final = {
    **{name: 10.0**power for name, power in {"n": -9, "u": -6, "m": -3}.items()},
    **{name: 10.0 ** (3 * power) for power, name in enumerate("kMGTPE", start=1)},
    **{f"{name}i": 1024.0**power for power, name in enumerate("KMGTPE", start=1)},
}


class PodUsage(Struct, frozen=True, kw_only=True):
    """The average usage of a pod's lnd over some seconds."""

    memory: int | None = None
    cpu_cores: float | None = None


UNKNOWN: Final = PodUsage()


class ResourceMetrics:
    """The usage of the pods in our namespace, from the last response."""

    def __init__(
        self, api: KubernetesApi, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._api = api
        self._clock = clock
        self._reading = asyncio.Lock()
        self._usage: Mapping[str, Quantities] = {}
        self._at: float | None = None
        self._why = ""

    async def read(self, *, newer_than_s: float) -> None:
        """Fetch the usage again, unless the last response is newer than this."""
        if self._is_newer(newer_than_s):
            return
        async with self._reading:
            if not self._is_newer(newer_than_s):
                self._usage, why = await fetch(self._api)
                self._at = self._clock()
                if why and why != self._why:
                    log.warning(
                        "memory and CPU usage of nodes is unknown",
                        extra={"why": why},
                    )
                self._why = why

    def of(self, pod: str) -> PodUsage:
        """Return the usage of a pod's lnd, as far as it is known."""
        if (found := self._usage.get(pod)) is None:
            return UNKNOWN
        memory = parse_quantity(found.memory)
        return PodUsage(
            memory=None if memory is None else int(memory),
            cpu_cores=parse_quantity(found.cpu),
        )

    def _is_newer(self, than_s: float) -> bool:
        return self._at is not None and self._clock() - self._at < than_s


async def fetch(api: KubernetesApi) -> tuple[Mapping[str, Quantities], str]:
    """Fetch the usage of each pod's lnd; the second value says why it is unknown."""
    try:
        async with asyncio.timeout(_WITHIN_S):
            path = f"{_GROUP}/namespaces/{api.namespace}/pods"
            found = await api.find(path, PodMetricsList)
            return ({}, _NONE) if found is None else (await _used(found), "")
    except ClusterRefused as error:
        forbidden = error.code == HTTPStatus.FORBIDDEN
        return {}, _FORBIDDEN % api.namespace if forbidden else str(error)
    except ClusterAway as error:
        return {}, f"the resource metrics API does not respond: {error}"
    except TimeoutError:
        return {}, f"the resource metrics API took longer than {_WITHIN_S:.0f} s"


async def _used(listed: PodMetricsList) -> Mapping[str, Quantities]:
    """Return the usage of each pod's lnd, by the pod's name."""
    found = {}
    for number, item in enumerate(listed.items or (), start=1):
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
        pod = decoded(item, PodMetrics)
        for container in pod.containers:
            if container.name == pods.LND:
                found[pod.metadata.name] = container.usage
    return found


def parse_quantity(text: str) -> float | None:
    """Return the value of a quantity, such as 94208Ki; None if invalid or negative."""
    if (found := _QUANTITY.fullmatch(text)) is None:
        return None
    if exponent := found["exponent"]:
        return float(f"{found['number']}e{exponent}")
    if (suffix := found["suffix"]) is None:
        return float(found["number"])
    factor = _SUFFIXES.get(suffix)
    return None if factor is None else float(found["number"]) * factor
