"""A view of the cluster's pods and machines, and of what in it is unknown."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Final

from leyden.errors import ClusterAway
from leyden.nodes.runtimes.kubernetes import pods
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi
from leyden.nodes.runtimes.kubernetes.informer import Informer
from leyden.nodes.runtimes.kubernetes.kinds import Machine, Pod

_MACHINES: Final = "/api/v1/nodes"


class ClusterView:
    """Our pods and all machines, watched from the first use on.

    `on_change` is called for each pod that changes, and for the pods of a machine that
    is lost or responds again.
    """

    def __init__(
        self, api: KubernetesApi, on_change: Callable[[Pod, bool], None]
    ) -> None:
        self._on_change = on_change
        self._readiness: dict[str, str] = {}
        self._pods = Informer(api, api.path("pods"), Pod, self._pod)
        self._machines = Informer(api, _MACHINES, Machine, self._machine)
        self._running: list[asyncio.Task[None]] = []
        self._turn = asyncio.Event()

    @property
    def pods(self) -> Mapping[str, Pod]:
        """The pods by name."""
        return self._pods.objects

    async def ready(self) -> None:
        """Return once both are listed; raise ClusterAway if that fails."""
        if not self._running:
            self._running = [
                asyncio.create_task(each.run(), name="cluster")
                for each in (self._pods, self._machines)
            ]
        for each in (self._pods, self._machines):
            await each.tried.wait()
            if not each.listed.is_set():
                raise ClusterAway("the cluster's pods and machines could not be listed")

    def unseen(self, pod: Pod) -> str:
        """Return why it is unknown whether a pod's lnd runs; "" if it is known."""
        return pods.unseen(pod, self._machines.objects)

    async def changed(self, within_s: float) -> None:
        """Wait for any change, for at most this time."""
        turn = self._turn
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await turn.wait()

    def close(self) -> None:
        """Stop watching."""
        for each in self._running:
            each.cancel()
        self._running = []
        self._wake()

    def _pod(self, pod: Pod, gone: bool) -> None:  # noqa: FBT001  the informer's signature
        self._wake()
        self._on_change(pod, gone)

    def _machine(self, machine: Machine, gone: bool) -> None:  # noqa: FBT001  the same
        name = machine.metadata.name
        before = self._readiness.pop(name, "")
        if not gone:
            self._readiness[name] = pods.readiness(machine)
        if self._readiness.get(name, "") != before:
            for pod in list(self._pods.objects.values()):
                if pod.spec.node_name == name:
                    self._on_change(pod, False)  # noqa: FBT003  whether it is gone
        self._wake()

    def _wake(self) -> None:
        turn, self._turn = self._turn, asyncio.Event()
        turn.set()
