"""Run nodes as pods of a Kubernetes cluster, one lnd each.

A pod's name follows from its node, so the cluster itself prevents a second pod. The
pod's uid is the node's process. lnd reports its state through its state stream, at the
address of the node's service. Watches report the end of an lnd, and lost machines;
nothing polls.

No pod is ever killed by force. A pod that is terminating still counts as running, and
one that can't be observed as unknown (pods.py).
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator
from typing import Final

from leyden.errors import (
    CannotStart,
    ClusterAway,
    ClusterRefused,
    Conflict,
    LeydenError,
    NodeAway,
)
from leyden.lnd.trust import trusting_chain
from leyden.nodes.lnd.states import StatesWatch, TlsAddress
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.observations import UNEXPLAINED, LndState, Observation
from leyden.nodes.rules.starts import Start, next_number
from leyden.nodes.runtimes.base import Checkpoint, LaunchSpec, OnObservation
from leyden.nodes.runtimes.kubernetes import manifests, pods
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi
from leyden.nodes.runtimes.kubernetes.kinds import NODE_LABEL, Pod
from leyden.nodes.runtimes.kubernetes.launches import Launches
from leyden.nodes.runtimes.kubernetes.objects import NodeObjects, refusals_of
from leyden.nodes.runtimes.kubernetes.template import Template
from leyden.nodes.runtimes.kubernetes.view import ClusterView
from leyden.nodes.runtimes.unknown import UnknownNodes
from leyden.values import Struct

log = logging.getLogger(__name__)

_LOOK_AGAIN_S: Final = 5.0
_RELEASE_AFTER_S: Final = 5.0
_HANDSHAKES_AT_ONCE: Final = 8


class _Watched(Struct):
    """The last observation of one pod's lnd, and what watches it."""

    observation: Observation
    address: TlsAddress
    tls: ssl.SSLContext
    stream: StatesWatch | None = None  # once it runs
    settling: "asyncio.Task[None] | None" = None  # once it has ended
    starting: "asyncio.Task[None] | None" = None  # until it runs

    def drop(self) -> None:
        if self.stream is not None:
            self.stream.close()
            self.stream = None
        if self.settling is not None:
            self.settling.cancel()
        if self.starting is not None:
            self.starting.cancel()


class KubernetesRuntime:
    """A runtime that runs nodes in one namespace of a cluster."""

    def __init__(
        self,
        api: KubernetesApi,
        template: Template,
        *,
        trusts: ssl.SSLContext,
        patience: float = 1.0,
    ) -> None:
        """Create the runtime; `patience` multiplies the time that pods get to start."""
        self._template = template
        self._trusts = trusts
        self._objects = NodeObjects(api, template)
        self._view = ClusterView(api, self._changed)
        self._unknown = UnknownNodes("pods")
        self._launches = Launches(
            self._objects, self._view, self._unknown, patience=patience
        )
        self._watched: dict[str, _Watched] = {}
        self._unobserved: dict[str, Node] = {}  # the cluster did not respond
        self._awaited: set[str] = set()  # ids of nodes that `start` waits for
        self._observing: asyncio.Task[None] | None = None
        self._releasing: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(_HANDSHAKES_AT_ONCE)
        self._on_observation: OnObservation = _nobody

    async def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Create the node's missing objects, and wait until its lnd runs.

        1. If the node has a pod that may be running, adopt it.
        2. Create the service, and yield its address before anything uses it.
        3. Create claim and secret. A node that has a wallet is started only with its
           own volume, or with another one if an operator has allowed that.
        4. Create the pod; if another process was faster, adopt its pod.
        5. Yield its uid before waiting, which may take minutes: a process that stops
           the node meanwhile knows what to stop.
        6. Wait until the kubelet reports that lnd runs, and watch it.
        """
        await self._view.ready()
        with refusals_of(node):
            running = await self._launches.holder(node)
        host = await self._objects.service(node)
        yield Checkpoint(host=host)
        last = launch_spec.last_start
        number = last.number
        if running is None:
            number = next_number(last, last)
            chain = launch_spec.tls.chain_pem
            is_ours = trusting_chain(self._trusts, chain) is self._trusts
            manifest = self._template.pod(node, shown=b"" if is_ours else chain)
            running = await self._launches.launch(node, launch_spec, manifest)
        yield Checkpoint(
            host=host,
            process=running.uid,
            revision=pods.revision(running),
            start=Start(number=number, copy=await self._objects.volume(node)),
        )
        self._awaited.add(node.id)
        try:
            running = await self._launches.until_it_runs(node, running)
        finally:
            self._awaited.discard(node.id)
        self._watch(node, running, host=host)

    async def stop(self, node: Node) -> None:
        """Stop lnd: terminate, and wait for its end, however long that takes.

        Another pod under the node's name runs its lnd as well, and is stopped too. If
        the cluster does not respond, the node is observed once it does.
        """
        try:
            await self._stop(node)
        except ClusterAway:
            if node.has_process:  # otherwise there is no process to observe
                self._observe_later(node)
            raise

    async def _stop(self, node: Node) -> None:
        await self._view.ready()
        pod = await self._objects.pod(node)
        if pod is None:
            if node.has_process and not await self._objects.has_claim(node):
                raise NodeAway(f"node {node.id}: whether its lnd has ended is unknown")
        elif why := self._launches.unseen(node.id, pod):
            raise NodeAway(f"node {node.id}: {why}")
        else:
            await self._launches.remove(node, pod)
        self._report_gone(node)

    async def remove(self, node: Node) -> None:
        """Delete the node's objects and its volume; refuse while an lnd runs there."""
        await self._view.ready()
        if await self._launches.holder(node) is not None:
            raise Conflict(f"node {node.id}: its lnd runs")
        self.unwatch(node.id)
        await self._objects.remove(node)

    async def observe(self, node: Node) -> Observation:
        """Return the observation of the pod in `node.process`, and watch the pod.

        The pod is unknown while its machine or the cluster does not respond, and if the
        node has no claim. Whether a pod is gone is read from the API server, because
        the informer may lag behind.
        """
        try:
            await self._view.ready()
            pod = self._view.pods.get(manifests.name(node))
            if pod is None or pod.uid != node.process:
                pod = await self._objects.pod(node)
            if pod is None or pod.uid != node.process:
                if await self._objects.has_claim(node):
                    return self._report_gone(node)
                why = self._unknown.add(node.id, "its pod and its volume do not exist")
                return _unknown(node.process, why)
            if pods.has_ended(pod):
                return await self._ended(node.id, pod)
        except (ClusterAway, ClusterRefused) as error:
            self._observe_later(node)
            return _unknown(node.process, self._unknown.add(node.id, str(error)))
        watched = self._watch(node, pod, host=node.host)
        if not pods.is_running(pod) and node.id not in self._awaited:
            self._wait_later(node, pod, watched)
        why = self._launches.unseen(node.id, pod)
        return _unknown(node.process, why) if why else watched.observation

    def watch(self, on_observation: OnObservation) -> None:
        """Report each state and each end from now on."""
        self._on_observation = on_observation

    def unwatch(self, node_id: str) -> None:
        """Stop listening to a node, which keeps running."""
        self._unknown.discard(node_id)
        self._unobserved.pop(node_id, None)
        if watched := self._watched.pop(node_id, None):
            watched.drop()

    def is_outdated(self, node: Node) -> bool:
        """Return whether the node's lnd was started with other CORS origins."""
        pod = self._view.pods.get(manifests.name(node))
        return pod is not None and pods.origins(pod) != self._template.origins

    async def run(self) -> None:
        """Maintain nothing: the cluster does."""

    def close(self) -> None:
        """Stop listening; the nodes keep running."""
        for node_id in list(self._watched):
            self.unwatch(node_id)
        self._unobserved.clear()
        if self._observing is not None:
            self._observing.cancel()
        for releasing in list(self._releasing):
            releasing.cancel()
        self._view.close()

    def _observe_later(self, node: Node) -> None:
        """Observe a node once the cluster responds, and report that."""
        self._unobserved[node.id] = node
        if self._observing is None or self._observing.done():
            self._observing = asyncio.create_task(
                self._observe_unobserved(), name="unheard"
            )

    async def _observe_unobserved(self) -> None:
        while self._unobserved:
            await asyncio.sleep(_LOOK_AGAIN_S)
            for node in list(self._unobserved.values()):
                self._unobserved.pop(node.id, None)
                try:
                    observation = await self.observe(node)
                except LeydenError as error:  # another pod has its name by now
                    log.info(
                        "node %s: can't be observed",
                        node.id,
                        extra={"why": str(error)},
                    )
                    continue
                if node.id in self._unobserved:
                    break  # it does not respond yet
                if observation.known:
                    self._on_observation(node.id, observation)

    def _watch(self, node: Node, pod: Pod, *, host: str) -> _Watched:
        watched = self._watched.get(node.id)
        if watched is None or watched.observation.process != pod.uid:
            if watched is not None:
                watched.drop()
            watched = self._watched[node.id] = _Watched(
                observation=Observation(process=pod.uid),
                address=TlsAddress(host, self._template.rest_port, node.api_endpoint),
                tls=trusting_chain(self._trusts, pods.certificate(pod)),
            )
        self._changed(self._view.pods.get(pod.metadata.name, pod), gone=False)
        return watched

    def _wait_later(self, node: Node, pod: Pod, watched: _Watched) -> None:
        """Wait for a pod whose start was interrupted; remove it if it never runs.

        The start may continue in another process, which can say why it failed: so wait
        longer than that process.
        """
        if watched.starting is None or watched.starting.done():
            watched.starting = asyncio.create_task(
                self._wait(node, pod, watched), name=f"start of {node.id}"
            )

    async def _wait(self, node: Node, pod: Pod, watched: _Watched) -> None:
        while watched.observation.alive:
            try:
                await self._launches.until_it_runs(node, pod, times=2)
            except CannotStart as error:
                log.warning(
                    "node %s: could not be started",
                    node.id,
                    extra={"why": str(error)},
                )
                return  # its removal is reported like every end
            except (ClusterAway, ClusterRefused, NodeAway) as error:
                log.info("node %s: waiting for its pod", node.id, extra={"why": error})
                await asyncio.sleep(_LOOK_AGAIN_S)
            else:
                return

    def _changed(self, pod: Pod, gone: bool) -> None:  # noqa: FBT001  the informer's signature
        """Handle a changed or deleted pod."""
        node_id = pod.metadata.labels.get(NODE_LABEL, "")
        watched = self._watched.get(node_id)
        if (
            watched is None
            or watched.observation.process != pod.uid
            or not watched.observation.alive
        ):
            if not gone:
                self._release_later(pod)
            return
        if gone or pods.has_ended(pod):
            if watched.settling is None:
                watched.settling = asyncio.create_task(
                    self._settle(node_id, pod, gone=gone), name=f"end of {node_id}"
                )
            return
        was_unseen = node_id in self._unknown
        why = self._launches.unseen(node_id, pod)
        if why and not was_unseen:
            self._on_observation(node_id, _unknown(pod.uid, why))
        elif was_unseen and not why:
            self._on_observation(node_id, watched.observation)
        if pods.is_running(pod) and watched.stream is None:
            watched.stream = StatesWatch(
                watched.address,
                watched.tls,
                lambda state: self._on_state(node_id, pod.uid, state),
                turns=self._turns,
            )

    def _release_later(self, pod: Pod) -> None:
        """Release a pod that ended long ago, once its watcher has seen the end.

        A drain, or the deletion of a namespace, waits for the release.
        """
        if pod.metadata.is_deleted and pods.is_held(pod) and pods.has_ended(pod):
            releasing = asyncio.create_task(self._release(pod), name="release")
            self._releasing.add(releasing)
            releasing.add_done_callback(self._releasing.discard)

    async def _release(self, pod: Pod) -> None:
        await asyncio.sleep(_RELEASE_AFTER_S)
        try:
            await self._objects.release(pod)
        except (ClusterAway, ClusterRefused) as error:
            log.info("can't release a pod yet", extra={"why": str(error)})

    async def _settle(self, node_id: str, pod: Pod, *, gone: bool) -> None:
        """Find out why an lnd has ended, report it, and release its pod."""
        end = pods.end(pod) if pods.has_ended(pod) else UNEXPLAINED
        observation = Observation(process=pod.uid, alive=False, end=end)
        while not gone:
            try:
                observation = await self._ended(node_id, pod)
                if not observation.stopped_by_owner:
                    await self._objects.tell(pod, observation.end)
                if pod.metadata.is_deleted:
                    await self._objects.release(pod)
            except (ClusterAway, ClusterRefused) as error:
                log.info(
                    ("node %s: unknown whether lnd has ended"),
                    node_id,
                    extra={"why": error},
                )
                await asyncio.sleep(_LOOK_AGAIN_S)
            else:
                break
        self._report(node_id, observation)

    async def _ended(self, node_id: str, pod: Pod) -> Observation:
        """Return the observation of an lnd that has ended, whose pod still exists."""
        self._unknown.discard(node_id)
        stopped_by_owner = await self._objects.was_stopped_by_owner(pod)
        end = pods.end(pod)
        return Observation(
            process=pod.uid, alive=False, stopped_by_owner=stopped_by_owner, end=end
        )

    def _report_gone(self, node: Node) -> Observation:
        """Return the observation that a node's pod is gone; report it if watched."""
        self._unknown.discard(node.id)
        gone = Observation(process=node.process, alive=False)
        watched = self._watched.get(node.id)
        if watched is not None and watched.observation.process == node.process:
            if not watched.observation.alive:
                return watched.observation
            self._report(node.id, gone)
        return gone

    def _on_state(self, node_id: str, uid: str, state: LndState) -> None:
        watched = self._watched.get(node_id)
        if watched is not None and watched.observation == Observation(
            process=uid, state=watched.observation.state
        ):
            self._report(node_id, Observation(process=uid, state=state))

    def _report(self, node_id: str, observation: Observation) -> None:
        watched = self._watched[node_id]
        watched.observation = observation
        if not observation.alive and watched.stream is not None:
            watched.stream.close()
        self._on_observation(node_id, observation)


def _unknown(process: str, why: str) -> Observation:
    return Observation(process=process, known=False, why=why)


def _nobody(_: str, __: Observation) -> None:
    """Ignore an observation, until `watch` is called."""
