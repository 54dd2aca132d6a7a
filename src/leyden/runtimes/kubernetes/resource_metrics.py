"""What pods use of memory and processor, from the cluster's resource metrics API.

metrics-server serves it, or something in its place; a cluster may have neither, and
then nothing is known. It is asked for all pods at once, since ten thousand nodes are
looked at every half minute, and failures are kept as long as answers are.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from leyden.errors import ClusterAway, ClusterRefused
from leyden.runtimes.kubernetes import pods, quantities
from leyden.runtimes.kubernetes.api import Api, decoded
from leyden.runtimes.kubernetes.kinds import PodMetrics, PodMetricsList, Quantities
from leyden.values import Struct

_GROUP: Final = "/apis/metrics.k8s.io/v1beta1"
# An API server waits for metrics-server; whoever looks at a page waits for us.
_WITHIN_S: Final = 10.0
_AT_A_TIME: Final = 250  # 4 µs each, and nobody else waits for longer
_NONE: Final = "the cluster has no resource metrics: install metrics-server"
_FORBIDDEN: Final = (
    "we may not list pods.metrics.k8s.io in %s: apply deploy/kubernetes/rbac.yaml, or "
    "upgrade the chart"
)

log = logging.getLogger(__name__)


class PodUsage(Struct, frozen=True, kw_only=True):
    """What a pod's lnd used of its machine on average, over some seconds."""

    memory: int | None = None
    cpu_cores: float | None = None


UNKNOWN: Final = PodUsage()


class ResourceMetrics:
    """What the pods of our namespace use, as it was last answered."""

    def __init__(
        self, api: Api, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._api = api
        self._clock = clock
        self._asking = asyncio.Lock()
        self._answered: Mapping[str, Quantities] = {}
        self._at: float | None = None
        self._why = ""

    async def read(self, *, newer_than_s: float) -> None:
        """Ask again unless the last answer is newer than this."""
        if self._is_newer(newer_than_s):
            return
        async with self._asking:
            if not self._is_newer(newer_than_s):
                self._answered, why = await ask(self._api)
                self._at = self._clock()
                if why and why != self._why:
                    log.warning(
                        "memory and processor of nodes are not known",
                        extra={"why": why},
                    )
                self._why = why

    def of(self, pod: str) -> PodUsage:
        """Return what a pod's lnd uses, as far as it was answered."""
        if (found := self._answered.get(pod)) is None:
            return UNKNOWN
        memory = quantities.parse(found.memory)
        return PodUsage(
            memory=None if memory is None else int(memory),
            cpu_cores=quantities.parse(found.cpu),
        )

    def _is_newer(self, than_s: float) -> bool:
        return self._at is not None and self._clock() - self._at < than_s


async def ask(api: Api) -> tuple[Mapping[str, Quantities], str]:
    """Return what each pod's lnd uses, and why nothing is known; "" if it is."""
    try:
        async with asyncio.timeout(_WITHIN_S):
            path = f"{_GROUP}/namespaces/{api.namespace}/pods"
            found = await api.find(path, PodMetricsList)
            return ({}, _NONE) if found is None else (await _used(found), "")
    except ClusterRefused as error:
        forbidden = error.code == HTTPStatus.FORBIDDEN
        return {}, _FORBIDDEN % api.namespace if forbidden else str(error)
    except ClusterAway as error:
        return {}, f"resource metrics are not answered: {error}"
    except TimeoutError:
        return {}, f"resource metrics are not answered within {_WITHIN_S:.0f} s"


async def _used(listed: PodMetricsList) -> Mapping[str, Quantities]:
    """Return what each pod's lnd uses, by the pod's name."""
    found = {}
    for number, item in enumerate(listed.items or (), start=1):
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
        pod = decoded(item, PodMetrics)
        for container in pod.containers:
            if container.name == pods.LND:
                found[pod.metadata.name] = container.usage
    return found
