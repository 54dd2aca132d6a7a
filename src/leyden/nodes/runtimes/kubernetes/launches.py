"""Find, create, await and remove the one pod of a node.

Each call may be interrupted at any moment, and repeated by any process.
"""

import asyncio
from typing import Final

from leyden.errors import CannotStart, NodeAway
from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.base import LaunchSpec
from leyden.nodes.runtimes.kubernetes import manifests, pods
from leyden.nodes.runtimes.kubernetes.kinds import Pod
from leyden.nodes.runtimes.kubernetes.manifests import Manifest
from leyden.nodes.runtimes.kubernetes.objects import NodeObjects
from leyden.nodes.runtimes.kubernetes.view import ClusterView
from leyden.nodes.runtimes.unknown import UnknownNodes

_READ_AGAIN_S: Final = 5.0
_LEAST_WAIT_S: Final = 0.5
_TRIES: Final = 5


class Launches:
    """The pods of nodes, from their creation to their removal."""

    def __init__(
        self,
        objects: NodeObjects,
        view: ClusterView,
        unknown: UnknownNodes,
        *,
        patience: float,
    ) -> None:
        self._objects = objects
        self._view = view
        self._unknown = unknown
        self._patience = patience

    async def holder(self, node: Node) -> Pod | None:
        """Return the node's pod if its lnd runs, or will run.

        A pod whose lnd has ended is removed. Raise NodeAway if the pod can't be
        observed.
        """
        pod = await self._objects.pod(node)
        if pod is None:
            return None
        if why := self.unseen(node.id, pod):
            raise NodeAway(f"node {node.id}: {why}")
        if not pods.has_ended(pod):
            return pod
        await self.remove(node, pod)
        return None

    async def launch(
        self, node: Node, launch_spec: LaunchSpec, manifest: Manifest
    ) -> Pod:
        """Create the node's pod, or return the one that another process created."""
        for _ in range(_TRIES):
            claim_uid = await self._objects.prepare(node, launch_spec)
            made = await self._objects.create_pod(node, manifest, claim_uid=claim_uid)
            found = made or await self.holder(node)
            if found is not None:
                return found
        raise NodeAway(f"node {node.id}: other processes create and delete its pod")

    async def until_it_runs(self, node: Node, pod: Pod, *, times: int = 1) -> Pod:
        """Return the pod once its lnd runs or has ended; raise CannotStart if too late.

        Each hindrance has its own time limit, multiplied by `times`, from when it was
        first seen. A pod that does not start in time is removed, so that it does not
        start later unexpectedly; the reconciler's next attempt creates a new one.
        """
        began, hindered_by = 0.0, ""
        while True:
            pod_ = self._view.pods.get(manifests.name(node))
            if pod_ is not None and pod_.uid == pod.uid:
                pod = pod_
            elif (known := await self._objects.pod(node)) and known.uid == pod.uid:
                pod = known
            else:
                raise NodeAway(f"node {node.id}: its pod was deleted while it started")
            if pods.is_running(pod) or pods.has_ended(pod):
                return pod
            if why := self.unseen(node.id, pod):
                raise NodeAway(f"node {node.id}: {why}")
            hindrance = pods.hindrance(pod)
            now = asyncio.get_running_loop().time()
            if hindrance.reason != hindered_by:
                began, hindered_by = now, hindrance.reason
            patience_s = hindrance.patience_s * self._patience * times
            left_s = began + patience_s - now
            if left_s <= 0:
                await self.remove(node, pod)
                raise CannotStart(
                    f"node {node.id}: {hindrance.why}", reason=hindrance.reason
                )
            await self._view.changed(min(left_s, _READ_AGAIN_S))

    async def remove(self, node: Node, pod: Pod) -> None:
        """Delete a pod, and return once its lnd has ended and the pod is gone.

        Raise NodeAway if its machine is lost meanwhile.
        """
        await self._objects.delete_pod(node, pod)
        while (left := await self._objects.pod(node)) and left.uid == pod.uid:
            if pods.has_ended(left):
                await self._objects.release(left)
            elif why := self.unseen(node.id, left):
                raise NodeAway(f"node {node.id}: {why}")
            await self._next_change(left)

    async def _next_change(self, pod: Pod) -> None:
        """Wait for another version of a pod, or for some seconds.

        The informer may lag behind what was just read. So first wait for any change, or
        half a second, so that the cluster is not polled in a tight loop.
        """
        until = asyncio.get_running_loop().time() + _READ_AGAIN_S
        await self._view.changed(_LEAST_WAIT_S)
        while (left_s := until - asyncio.get_running_loop().time()) > 0:
            pod_ = self._view.pods.get(pod.metadata.name)
            if pod_ is None or pods.version(pod_) != pods.version(pod):
                return
            await self._view.changed(left_s)

    def unseen(self, node_id: str, pod: Pod) -> str:
        """Return why it is unknown whether a node's lnd runs; "" if it is known."""
        why = self._view.unseen(pod)
        if why:
            self._unknown.add(node_id, why)
        else:
            self._unknown.discard(node_id)
        return why
