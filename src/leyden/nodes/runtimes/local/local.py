"""Nodes as processes of this machine: one lnd each, independent of us.

An lnd outlives us: it has a session of its own, and is found again by its
claim. Its state stream reports its state, and a pidfd its end; nothing polls.
"""

import asyncio
import contextlib
import logging
import shutil
import signal
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from leyden.base import processes
from leyden.base.processes import ProcessIdentity
from leyden.errors import Conflict, NodeAway, SetupError
from leyden.lnd.trust import trusting_chain
from leyden.nodes.lnd import endings, home
from leyden.nodes.lnd.options import Logs
from leyden.nodes.lnd.states import OPENS_AFTER_S, StatesWatch, TlsAddress
from leyden.nodes.rules.nodes import Cause, Node
from leyden.nodes.rules.observations import UNEXPLAINED, End, LndState, Observation
from leyden.nodes.rules.versions import Version
from leyden.nodes.runtimes.base import Checkpoint, LaunchSpec, OnObservation
from leyden.nodes.runtimes.local import counter
from leyden.nodes.runtimes.local.cgroups import Cgroups
from leyden.nodes.runtimes.local.layout import Layout
from leyden.nodes.runtimes.local.local_launches import LocalLaunches, revision
from leyden.nodes.runtimes.local.priorities import Priority
from leyden.nodes.runtimes.unknown import UnknownNodes
from leyden.values import Struct

log = logging.getLogger(__name__)

_AGAIN_S: Final = 1.0
_HELD_AFTER_S: Final = 1.0  # limiting it while it starts would slow it down
# A TLS handshake with an lnd blocks our event loop for a millisecond or two.
_HANDSHAKES_AT_ONCE: Final = 8


class _Watched(Struct):
    """The last observation of one process, and what watches it."""

    observation: Observation
    stream: StatesWatch
    ending: "asyncio.Task[None]"

    def drop(self) -> None:
        self.stream.close()
        self.ending.cancel()


class NodeEgress(Protocol):
    """The egress policy that nodes are started under."""

    async def admit(self) -> None:
        """Return if a node may start; raise Away while its policy is missing."""
        ...

    async def keep(self) -> None:
        """Keep the policy in place until cancelled; return at once without one."""
        ...


class LocalRuntime:
    """A runtime that runs nodes on this machine."""

    def __init__(
        self,
        layout: Layout,
        *,
        binary: Callable[[Version], Awaitable[Path]],
        trusts: ssl.SSLContext,
        cors_origins: tuple[str, ...] = (),
        tor_socks: str = "",
        logs: Logs | None = None,
        grace_s: float = 600,
        cgroups: Cgroups | None = None,
        egress: NodeEgress | None = None,
    ) -> None:
        self.layout = layout
        self._placement = layout.placement
        self._trusts = trusts
        self._cors_origins = cors_origins
        self._launches = LocalLaunches(
            layout,
            binary=binary,
            cors_origins=cors_origins,
            tor_socks=tor_socks,
            logs=logs,
        )
        self._grace_s = grace_s
        self._cgroups = cgroups
        self._egress = egress
        self._watched: dict[str, _Watched] = {}
        self._unknown = UnknownNodes("processes")
        self._turns = asyncio.Semaphore(_HANDSHAKES_AT_ONCE)
        self._on_observation: OnObservation = lambda _, __: None
        layout.root.mkdir(parents=True, exist_ok=True)
        layout.root.chmod(0o711)  # despite the umask: each node's user passes through

    async def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Create the node's folder and start lnd in it, or adopt a running lnd.

        1. If the claim has a holder, that is the node's lnd: adopt it. If the claim is
           free, start a node that has a wallet only with that wallet, and never with
           an old copy of it.
        2. Write the folder, in a thread: path and content follow from the node alone,
           so there is nothing to save, and writing it again repairs it. Count the
           start.
        3. Start lnd; it has the claim from the fork on, even if we die.
        4. Watch it.
        """
        host = self._placement.host(node)
        running = await self._holder(node)
        new = running is None
        if running is None:
            self._launches.refuse_without_wallet(node)
            self._launches.refuse_old_copy(node, launch_spec.last_start)
            lnd = await self._launches.program(node)
            if self._egress is not None:
                await self._egress.admit()  # raises if no node may start now
            await asyncio.to_thread(self._launches.make_home, node, launch_spec, host)
            running = await self._launches.spawn(node, lnd)
        self._watch(node, running, new=new)
        yield Checkpoint(
            host=host,
            process=running.written,
            revision=revision(running),
            start=counter.read(self.layout.starts(node)),
        )

    async def stop(self, node: Node) -> None:
        """Stop lnd: terminate, wait for the grace period, then kill."""
        if node.has_process:
            running = ProcessIdentity.read(node.process)
            if not processes.alive(running) and self._why_unknown(node):
                raise NodeAway(f"node {node.id}: whether its lnd has ended is unknown")
        elif found := await self._holder(node):
            running = found
        else:
            return
        await processes.stop(running, grace_s=self._grace_s)
        if watched := self._watched.get(node.id):
            await asyncio.wait([watched.ending])  # until the end has been recorded

    async def remove(self, node: Node) -> None:
        """Delete the node's folder; refuse while an lnd runs in it."""
        if await self._holder(node) is not None:
            raise Conflict(f"node {node.id}: its lnd runs")
        self.unwatch(node.id)
        with contextlib.suppress(FileNotFoundError):
            await asyncio.to_thread(shutil.rmtree, self.layout.folder(node))

    async def observe(self, node: Node) -> Observation:
        """Return the observation of the process; watch it from now on if it lives.

        A node is unknown if its folder is not here, or its lnd runs where we cannot
        see it.
        """
        watched = self._watched.get(node.id)
        if watched is None or watched.observation.process != node.process:
            running = ProcessIdentity.read(node.process)
            if not processes.alive(running):
                if why := self._why_unknown(node):
                    return Observation(process=node.process, known=False, why=why)
                return await self._ended(
                    node, node.process, out_of_memory=self._short(node)
                )
            watched = self._watch(node, running)
        return watched.observation

    def watch(self, on_observation: OnObservation) -> None:
        """Report each state and each end from now on."""
        self._on_observation = on_observation

    def unwatch(self, node_id: str) -> None:
        """Stop listening to a node, which keeps running."""
        self._unknown.discard(node_id)  # now reported by the process that watches it
        if watched := self._watched.pop(node_id, None):
            watched.drop()

    def is_outdated(self, node: Node) -> bool:
        """Return whether the node's lnd was started with other CORS origins."""
        origins = home.origins(self.layout.home(node))
        return sorted(origins) != sorted(self._cors_origins)

    async def run(self) -> None:
        """Keep the egress policy of nodes in place until cancelled."""
        if self._egress is not None:
            await self._egress.keep()

    def close(self) -> None:
        """Stop listening; the nodes keep running."""
        for node_id in list(self._watched):
            self.unwatch(node_id)
        if self._cgroups is not None:
            self._cgroups.remove()  # except those of running lnds

    async def _holder(self, node: Node) -> ProcessIdentity | None:
        """Return the node's running lnd, if any; NodeAway if it cannot be seen."""
        claim = self.layout.claim(node)
        try:
            # Or it is being started right now.
            if processes.held_by_unseen_program(claim):
                return await asyncio.to_thread(processes.holder, claim)
            return processes.holder(claim)
        except SetupError as error:
            raise NodeAway(f"node {node.id}: {error.message}") from None

    def _why_unknown(self, node: Node) -> str:
        folder = self.layout.folder(node)
        if not folder.is_dir():
            why = f"{folder} is missing"
        elif processes.held_by_unseen_program(self.layout.claim(node)):
            why = "lnd runs where this process can't see it"
        else:
            self._unknown.discard(node.id)
            return ""
        return self._unknown.add(node.id, why)

    def _watch(
        self, node: Node, running: ProcessIdentity, *, new: bool = False
    ) -> _Watched:
        process = running.written
        self._unknown.discard(node.id)
        watched = self._watched.get(node.id)
        if watched is not None:
            if watched.observation.process == process:
                return watched
            watched.drop()
        address = TlsAddress(
            self._placement.host(node), self._placement.rest_port, node.api_endpoint
        )

        def on_state(state: LndState) -> None:
            priority.update(state)
            self._report(node.id, Observation(process=process, state=state))

        priority = Priority(running)
        if new:
            priority.update(None)
        watched = _Watched(
            observation=Observation(process=process),
            stream=StatesWatch(
                address,
                trusting_chain(self._trusts, home.certificate(self.layout.home(node))),
                on_state,
                opens_after_s=OPENS_AFTER_S if new else 0,
                turns=None
                if new
                else self._turns,  # a node whose owner waits starts first
            ),
            ending=asyncio.create_task(self._await_end(node, running)),
        )
        self._watched[node.id] = watched
        self._limit(node, running, after_s=_HELD_AFTER_S if new else 0)
        return watched

    def _limit(self, node: Node, running: ProcessIdentity, *, after_s: float) -> None:
        """Limit the process to its share, if the kernel can."""
        if self._cgroups is not None:
            share, loop = self._placement.shares[node.type], asyncio.get_running_loop()
            hold = partial(self._cgroups.hold, node.id, running, share)
            loop.call_later(after_s, loop.run_in_executor, None, hold)

    async def _await_end(self, node: Node, running: ProcessIdentity) -> None:
        code = await _exited(running)
        self._watched[node.id].stream.close()
        ended = await self._ended(
            node, running.written, code=code, out_of_memory=self._short(node)
        )
        self._report(node.id, ended)

    def _short(self, node: Node) -> bool:
        """Remove the group of an ended lnd; return whether it ran out of memory."""
        return self._cgroups is not None and self._cgroups.release(node.id)

    async def _ended(
        self,
        node: Node,
        process: str,
        *,
        code: int | None = None,
        out_of_memory: bool = False,
    ) -> Observation:
        file = home.log_file(
            self.layout.home(node), self.layout.grounds[node.network].chain
        )
        words = await asyncio.to_thread(endings.log_end, file)
        stopped_by_owner = endings.stopped_by_owner(words, code)
        end = _end(code, out_of_memory=out_of_memory)
        return Observation(
            process=process, alive=False, stopped_by_owner=stopped_by_owner, end=end
        )

    def _report(self, node_id: str, observation: Observation) -> None:
        self._watched[node_id].observation = observation
        self._on_observation(node_id, observation)


def _end(code: int | None, *, out_of_memory: bool) -> End:
    """Return why a process ended, from its exit code: minus the signal, if killed."""
    if out_of_memory:
        return End(cause=Cause.OUT_OF_MEMORY, why="the kernel killed it")
    if code is None:  # an earlier run of ours started it
        return UNEXPLAINED
    if code < 0:
        return End(cause=Cause.KILLED, why=f"signal {signal.Signals(-code).name}")
    return End(cause=Cause.EXITED, why=f"exit code {code}")


async def _exited(running: ProcessIdentity) -> int | None:
    """Wait for the end, even while too many open files prevent a pidfd."""
    while True:
        try:
            return await processes.exited(running)
        except OSError:
            await asyncio.sleep(_AGAIN_S)
