"""Nodes as pods of a Kubernetes cluster: one lnd each, apart from us.

The name of a pod follows from its node, so the cluster itself keeps a second one from
being made; its uid is the node's process. An lnd is heard through its state stream, at
its service's address; its end and its machine are seen through watches; nothing polls.

Nothing is ever ended by force. A pod that is terminating is alive, and of one that
cannot be seen nothing is known (pods.py).
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator
from typing import Final

from leyden.domain.nodes import Node
from leyden.domain.observations import Observation, State
from leyden.domain.starts import Start, next_number
from leyden.errors import (
    CannotStart,
    ClusterAway,
    ClusterRefused,
    Conflict,
    NodeAway,
)
from leyden.lnd.states import Address, Watch
from leyden.lnd.trust import trusting_chain
from leyden.runtimes.base import Checkpoint, LaunchSpec, Tell
from leyden.runtimes.kubernetes import manifests, pods
from leyden.runtimes.kubernetes.api import Api
from leyden.runtimes.kubernetes.kinds import NODE_LABEL, Pod
from leyden.runtimes.kubernetes.launches import Launches
from leyden.runtimes.kubernetes.objects import Objects, refusals_of
from leyden.runtimes.kubernetes.template import Template
from leyden.runtimes.kubernetes.view import View
from leyden.runtimes.unknown import UnknownNodes
from leyden.values import Struct

log = logging.getLogger(__name__)

_LOOK_AGAIN_S: Final = 5.0
_SEEN_BY_THEN_S: Final = 5.0
_LET_IN_AT_ONCE: Final = 8


class _Watched(Struct):
    """What is known of one pod's lnd, and what listens to it."""

    seen: Observation
    address: Address
    tls: ssl.SSLContext
    stream: Watch | None = None  # once it runs
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
        api: Api,
        template: Template,
        *,
        trusts: ssl.SSLContext,
        patience: float = 1.0,
    ) -> None:
        """Prepare; `patience` is how many times its usual time a pod has to start."""
        self._template = template
        self._trusts = trusts
        self._objects = Objects(api, template)
        self._view = View(api, self._changed)
        self._unknown = UnknownNodes()
        self._launches = Launches(
            self._objects, self._view, self._unknown, patience=patience
        )
        self._watched: dict[str, _Watched] = {}
        self._unheard: dict[str, Node] = {}  # while the cluster did not answer
        self._awaited: set[str] = set()  # by starts under way
        self._asking: asyncio.Task[None] | None = None
        self._releasing: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(_LET_IN_AT_ONCE)
        self._tell: Tell = _nobody

    async def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Create what the node lacks of its objects, and wait until its lnd runs.

        1. A pod of the node that may be running is the node's lnd, and all is done.
        2. The service gives the address, which is kept before anything uses it.
        3. Claim and secret; a node that has a wallet is started with its volume or
           not at all, and with another one only if an operator has said so.
        4. The pod. Where another one was quicker, that one is taken.
        5. Its uid is kept before it is waited for, which may take minutes: whoever
           is told to stop the node meanwhile knows what to stop.
        6. Wait until the kubelet says that lnd runs, and listen to it.
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
        self._follow(node, running, host=host)

    async def stop(self, node: Node) -> None:
        """Stop lnd: terminate, and wait for its end, however long that takes.

        Another pod under the node's name runs its lnd as well, and is stopped too.
        Where the cluster does not answer, its lnd is told of once it does.
        """
        try:
            await self._stop(node)
        except ClusterAway:
            if node.has_process:  # an lnd that nobody knows of yet has no end to tell
                self._ask_again(node)
            raise

    async def _stop(self, node: Node) -> None:
        await self._view.ready()
        pod = await self._objects.pod(node)
        if pod is None:
            if not await self._objects.has_claim(node):
                raise NodeAway(f"node {node.id}: whether its lnd has ended is unknown")
        elif why := self._launches.unseen(node.id, pod):
            raise NodeAway(f"node {node.id}: {why}")
        else:
            await self._launches.remove(node, pod)
        self._end_of(node)

    async def remove(self, node: Node) -> None:
        """Delete the node's objects and its volume; refuse while an lnd runs there."""
        await self._view.ready()
        if await self._launches.holder(node) is not None:
            raise Conflict(f"node {node.id}: its lnd runs")
        self.forget(node.id)
        await self._objects.remove(node)

    async def observe(self, node: Node) -> Observation:
        """Return what is known of the pod that the node names, and listen to it.

        Nothing is known while its machine, or the cluster, does not answer, and of a
        node without a claim. That a pod is gone is asked of the cluster itself: what
        was heard of it may be late.
        """
        unknown = Observation(process=node.process, known=False)
        try:
            await self._view.ready()
            pod = self._view.pods.get(manifests.name(node))
            if pod is None or pod.uid != node.process:
                pod = await self._objects.pod(node)
            if pod is None or pod.uid != node.process:
                if await self._objects.has_claim(node):
                    return self._end_of(node)
                self._unknown.add(node.id, "its pod and its volume are not there")
                return unknown
            if pods.has_ended(pod):
                return await self._ended(node.id, pod)
        except (ClusterAway, ClusterRefused) as error:
            self._unknown.add(node.id, str(error))
            self._ask_again(node)
            return unknown
        watched = self._follow(node, pod, host=node.host)
        if not pods.is_running(pod) and node.id not in self._awaited:
            self._wait_later(node, pod, watched)
        return unknown if self._launches.unseen(node.id, pod) else watched.seen

    def watch(self, tell: Tell) -> None:
        """Report each state and each end from now on."""
        self._tell = tell

    def forget(self, node_id: str) -> None:
        """Stop listening to a node, which keeps running."""
        self._unknown.discard(node_id)
        self._unheard.pop(node_id, None)
        if watched := self._watched.pop(node_id, None):
            watched.drop()

    def is_outdated(self, node: Node) -> bool:
        """Return whether the node's lnd was started with other CORS origins."""
        pod = self._view.pods.get(manifests.name(node))
        return pod is not None and pods.origins(pod) != self._template.origins

    async def run(self) -> None:
        """Keep nothing up: the cluster does."""

    def close(self) -> None:
        """Stop listening; the nodes keep running."""
        for node_id in list(self._watched):
            self.forget(node_id)
        self._unheard.clear()
        if self._asking is not None:
            self._asking.cancel()
        for releasing in list(self._releasing):
            releasing.cancel()
        self._view.close()

    def _ask_again(self, node: Node) -> None:
        """Observe a node once the cluster answers, and tell what that is."""
        self._unheard[node.id] = node
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_unheard(), name="unheard")

    async def _ask_unheard(self) -> None:
        while self._unheard:
            await asyncio.sleep(_LOOK_AGAIN_S)
            for node in list(self._unheard.values()):
                self._unheard.pop(node.id, None)
                seen = await self.observe(node)
                if node.id in self._unheard:
                    break  # it does not answer yet
                if seen.known:
                    self._tell(node.id, seen)

    def _follow(self, node: Node, pod: Pod, *, host: str) -> _Watched:
        watched = self._watched.get(node.id)
        if watched is None or watched.seen.process != pod.uid:
            if watched is not None:
                watched.drop()
            watched = self._watched[node.id] = _Watched(
                seen=Observation(process=pod.uid),
                address=Address(host, self._template.rest_port, node.api_endpoint),
                tls=trusting_chain(self._trusts, pods.certificate(pod)),
            )
        self._changed(self._view.pods.get(pod.metadata.name, pod), gone=False)
        return watched

    def _wait_later(self, node: Node, pod: Pod, watched: _Watched) -> None:
        """Wait for a pod whose start was broken off; take it away if it never runs.

        That start may be going on in another process, which can say why it failed: so
        it is given the time to be the first.
        """
        if watched.starting is None or watched.starting.done():
            watched.starting = asyncio.create_task(
                self._wait(node, pod, watched), name=f"start of {node.id}"
            )

    async def _wait(self, node: Node, pod: Pod, watched: _Watched) -> None:
        while watched.seen.alive:
            try:
                await self._launches.until_it_runs(node, pod, times=2)
            except CannotStart as error:
                log.warning(
                    "node %s: could not be started",
                    node.id,
                    extra={"why": str(error)},
                )
                return  # that it is gone is told as each end is
            except (ClusterAway, ClusterRefused, NodeAway) as error:
                log.info("node %s: waiting for its pod", node.id, extra={"why": error})
                await asyncio.sleep(_LOOK_AGAIN_S)
            else:
                return

    def _changed(self, pod: Pod, gone: bool) -> None:  # noqa: FBT001  as informers tell
        """Apply what was heard of a pod."""
        node_id = pod.metadata.labels.get(NODE_LABEL, "")
        watched = self._watched.get(node_id)
        if watched is None or watched.seen.process != pod.uid or not watched.seen.alive:
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
        if not self._launches.unseen(node_id, pod) and was_unseen:
            self._tell(node_id, watched.seen)
        if pods.is_running(pod) and watched.stream is None:
            watched.stream = Watch(
                watched.address,
                watched.tls,
                lambda state: self._said(node_id, pod.uid, state),
                turns=self._turns,
            )

    def _release_later(self, pod: Pod) -> None:
        """Let go of a pod that ended long ago, once whoever watches it has seen that.

        A drain waits for it, and the deletion of a namespace.
        """
        if pod.metadata.is_deleted and pods.is_held(pod) and pods.has_ended(pod):
            releasing = asyncio.create_task(self._release(pod), name="release")
            self._releasing.add(releasing)
            releasing.add_done_callback(self._releasing.discard)

    async def _release(self, pod: Pod) -> None:
        await asyncio.sleep(_SEEN_BY_THEN_S)
        try:
            await self._objects.release(pod)
        except (ClusterAway, ClusterRefused) as error:
            log.info("can't release a pod yet", extra={"why": str(error)})

    async def _settle(self, node_id: str, pod: Pod, *, gone: bool) -> None:
        """Find out why an lnd has ended, tell of it, and let its object go."""
        seen = Observation(process=pod.uid, alive=False)
        while not gone:
            try:
                seen = await self._ended(node_id, pod)
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
        self._see(node_id, seen)

    async def _ended(self, node_id: str, pod: Pod) -> Observation:
        """Return why an lnd has ended, whose pod is still there."""
        self._unknown.discard(node_id)
        asked = await self._objects.was_stopped_by_owner(pod)
        return Observation(process=pod.uid, alive=False, asked=asked)

    def _end_of(self, node: Node) -> Observation:
        """Return that the pod of a node is gone; tell of it where it was watched."""
        self._unknown.discard(node.id)
        gone = Observation(process=node.process, alive=False)
        watched = self._watched.get(node.id)
        if watched is not None and watched.seen.process == node.process:
            if not watched.seen.alive:
                return watched.seen
            self._see(node.id, gone)
        return gone

    def _said(self, node_id: str, uid: str, state: State) -> None:
        watched = self._watched.get(node_id)
        if watched is not None and watched.seen == Observation(
            process=uid, state=watched.seen.state
        ):
            self._see(node_id, Observation(process=uid, state=state))

    def _see(self, node_id: str, seen: Observation) -> None:
        watched = self._watched[node_id]
        watched.seen = seen
        if not seen.alive and watched.stream is not None:
            watched.stream.close()
        self._tell(node_id, seen)


def _nobody(_: str, __: Observation) -> None:
    """Ignore an observation, until `watch` is called."""
