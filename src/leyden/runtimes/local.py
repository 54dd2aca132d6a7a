"""Nodes as processes of this machine: one lnd each, apart from us.

An lnd outlives us: it has a session of its own, and is found again by its
claim. Its state and its end are seen through its state stream and a pidfd;
nothing polls.
"""

import asyncio
import contextlib
import logging
import shutil
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from leyden import processes
from leyden.domain.nodes import Node
from leyden.domain.observations import Observation, State
from leyden.domain.versions import Version
from leyden.errors import Conflict, NodeAway, SetupError
from leyden.lnd import endings, home
from leyden.lnd.options import Logs
from leyden.lnd.states import OPENS_AFTER_S, Address, Watch
from leyden.lnd.trust import trusting_chain
from leyden.processes import Identity
from leyden.runtimes import counter
from leyden.runtimes.base import Checkpoint, LaunchSpec, Tell
from leyden.runtimes.cgroups import Cgroups
from leyden.runtimes.layout import Layout
from leyden.runtimes.local_launches import LocalLaunches, revision
from leyden.runtimes.priorities import Priority
from leyden.runtimes.unknown import UnknownNodes
from leyden.values import Struct

log = logging.getLogger(__name__)

_AGAIN_S: Final = 1.0
_HELD_AFTER_S: Final = 1.0  # while it starts, that would hold it up
# To be let in by an lnd takes a millisecond or two of our processor, in one piece.
_LET_IN_AT_ONCE: Final = 8


class _Watched(Struct):
    """The knowledge about one process, and what listens to it."""

    seen: Observation
    stream: Watch
    ending: "asyncio.Task[None]"

    def drop(self) -> None:
        self.stream.close()
        self.ending.cancel()


class Egress(Protocol):
    """What holds nodes to what they may reach of the network."""

    async def admit(self) -> None:
        """Return where a node may start; raise Away where its policy is missing."""
        ...

    async def keep(self) -> None:
        """Keep the policy in place until cancelled, or return where there is none."""
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
        logs: Logs | None = None,
        grace_s: float = 600,
        cgroups: Cgroups | None = None,
        egress: Egress | None = None,
    ) -> None:
        self.layout = layout
        self._placement = layout.placement
        self._trusts = trusts
        self._cors_origins = cors_origins
        self._launches = LocalLaunches(
            layout, binary=binary, cors_origins=cors_origins, logs=logs
        )
        self._grace_s = grace_s
        self._cgroups = cgroups
        self._egress = egress
        self._watched: dict[str, _Watched] = {}
        self._unknown = UnknownNodes()
        self._turns = asyncio.Semaphore(_LET_IN_AT_ONCE)
        self._tell: Tell = lambda _, __: None
        layout.root.mkdir(parents=True, exist_ok=True)
        layout.root.chmod(0o711)  # whatever the umask: each node's user passes through

    async def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Create the node's folder and start lnd in it, or adopt a running lnd.

        1. The claim's holder is the node's lnd, and all is done. If the claim is
           free, a node that has a wallet is started with that wallet or not at all,
           and never with an old copy of it.
        2. Write the folder, beside the event loop: path and content follow from the
           node alone, so there is nothing to save, and writing it again repairs it.
           Count the start.
        3. Start lnd; from the fork on lnd has the claim, whatever happens to us.
        4. Listen to it.
        """
        host = self._placement.host(node)
        running = await self._holder(node)
        new = running is None
        if running is None:
            self._launches.refuse_without_wallet(node)
            self._launches.refuse_old_copy(node, launch_spec.last_start)
            lnd = await self._launches.program(node)
            if self._egress is not None:
                await self._egress.admit()  # raises where no node may start now
            await asyncio.to_thread(self._launches.make_home, node, launch_spec, host)
            running = await self._launches.spawn(node, lnd)
        self._follow(node, running, new=new)
        yield Checkpoint(
            host=host,
            process=running.written,
            revision=revision(running),
            start=counter.read(self.layout.starts(node)),
        )

    async def stop(self, node: Node) -> None:
        """Stop lnd: terminate, wait for the grace period, then kill."""
        running = Identity.read(node.process)
        if not processes.alive(running) and self._is_unknown(node):
            raise NodeAway(f"node {node.id}: whether its lnd has ended is unknown")
        await processes.stop(running, grace_s=self._grace_s)
        if watched := self._watched.get(node.id):
            await asyncio.wait([watched.ending])  # so that the end has been seen

    async def remove(self, node: Node) -> None:
        """Delete the node's folder; refuse while an lnd runs in it."""
        if await self._holder(node) is not None:
            raise Conflict(f"node {node.id}: its lnd runs")
        self.forget(node.id)
        with contextlib.suppress(FileNotFoundError):
            await asyncio.to_thread(shutil.rmtree, self.layout.folder(node))

    async def observe(self, node: Node) -> Observation:
        """Return what is known of the process; listen to it from now on if it lives.

        Nothing is known of a node whose folder is not here, nor of one whose lnd is
        where we cannot see it.
        """
        watched = self._watched.get(node.id)
        if watched is None or watched.seen.process != node.process:
            running = Identity.read(node.process)
            if not processes.alive(running):
                if self._is_unknown(node):
                    return Observation(process=node.process, known=False)
                return self._gone(node, node.process, code=None)
            watched = self._follow(node, running)
        return watched.seen

    def watch(self, tell: Tell) -> None:
        """Report each state and each end from now on."""
        self._tell = tell

    def forget(self, node_id: str) -> None:
        """Stop listening to a node, which keeps running."""
        self._unknown.discard(node_id)  # by whoever watches it now, if at all
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
            self.forget(node_id)
        if self._cgroups is not None:
            self._cgroups.remove()  # but for those that somebody is in

    async def _holder(self, node: Node) -> Identity | None:
        """Return the node's lnd that runs; NodeAway where it cannot be seen."""
        claim = self.layout.claim(node)
        try:
            # Or is being started this very moment.
            if processes.held_by_unseen_program(claim):
                return await asyncio.to_thread(processes.holder, claim)
            return processes.holder(claim)
        except SetupError as error:
            raise NodeAway(f"node {node.id}: {error.message}") from None

    def _is_unknown(self, node: Node) -> bool:
        folder = self.layout.folder(node)
        if not folder.is_dir():
            why = f"{folder} is missing"
        elif processes.held_by_unseen_program(self.layout.claim(node)):
            why = "lnd runs where this process can't see it"
        else:
            self._unknown.discard(node.id)
            return False
        self._unknown.add(node.id, why)
        return True

    def _follow(self, node: Node, running: Identity, *, new: bool = False) -> _Watched:
        process = running.written
        self._unknown.discard(node.id)
        watched = self._watched.get(node.id)
        if watched is not None:
            if watched.seen.process == process:
                return watched
            watched.drop()
        address = Address(
            self._placement.host(node), self._placement.rest_port, node.api_endpoint
        )

        def said(state: State) -> None:
            priority.update(state)
            self._see(node.id, Observation(process=process, state=state))

        priority = Priority(running)
        if new:
            priority.update(None)
        watched = _Watched(
            seen=Observation(process=process),
            stream=Watch(
                address,
                trusting_chain(self._trusts, home.certificate(self.layout.home(node))),
                said,
                opens_after_s=OPENS_AFTER_S if new else 0,
                turns=None if new else self._turns,  # whose owner waits goes first
            ),
            ending=asyncio.create_task(self._await_end(node, running)),
        )
        self._watched[node.id] = watched
        self._hold(node, running, after_s=_HELD_AFTER_S if new else 0)
        return watched

    def _hold(self, node: Node, running: Identity, *, after_s: float) -> None:
        """Hold it to its share, where the kernel can."""
        if self._cgroups is not None:
            share, loop = self._placement.shares[node.type], asyncio.get_running_loop()
            hold = partial(self._cgroups.hold, node.id, running, share)
            loop.call_later(after_s, loop.run_in_executor, None, hold)

    async def _await_end(self, node: Node, running: Identity) -> None:
        code = await _exited(running)
        self._watched[node.id].stream.close()
        if self._cgroups is not None and self._cgroups.release(node.id):
            log.warning("an lnd exceeded its memory limit", extra={"node": node.id})
        self._see(node.id, self._gone(node, running.written, code=code))

    def _gone(self, node: Node, process: str, *, code: int | None) -> Observation:
        file = home.log_file(
            self.layout.home(node), self.layout.grounds[node.network].chain
        )
        asked = endings.stopped_by_owner(endings.log_end(file), code)
        return Observation(process=process, alive=False, asked=asked)

    def _see(self, node_id: str, seen: Observation) -> None:
        self._watched[node_id].seen = seen
        self._tell(node_id, seen)


async def _exited(running: Identity) -> int | None:
    """Wait for the end, even while too many open files prevent a pidfd."""
    while True:
        try:
            return await processes.exited(running)
        except OSError:
            await asyncio.sleep(_AGAIN_S)
