"""Nodes as processes of this machine: one lnd each, apart from us and from each other.

An lnd outlives us: it has a session of its own, and is found again by its claim. What
becomes of it is seen through its state stream and a pidfd; nothing polls.
"""

import asyncio
import contextlib
import shutil
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final

from leyden import logs, processes
from leyden.domain.nodes import Node
from leyden.domain.observations import Observation, State
from leyden.domain.versions import Version
from leyden.errors import Conflict, SetupError
from leyden.lnd import endings, home
from leyden.lnd.options import Logs, Options
from leyden.lnd.states import OPENS_AFTER_S, Address, Watch
from leyden.lnd.trust import trusting_chain
from leyden.processes import Identity
from leyden.runtimes.base import Checkpoint, Outfit, Tell
from leyden.runtimes.cgroups import Cgroups
from leyden.runtimes.layout import MOST_OUTPUT, Layout
from leyden.values import Struct

log = logs.get()

_REVISION: Final = "LEYDEN_REVISION"  # in lnd's environment: which settings it has
_AGAIN_S: Final = 1.0
_HELD_AFTER_S: Final = 1.0  # while it starts, that would hold it up
# To be let in by an lnd takes a millisecond or two of our processor, in one piece.
_LET_IN_AT_ONCE: Final = 8


class _Watched(Struct):
    """What is known of one process, and what listens to it."""

    seen: Observation
    stream: Watch
    ending: "asyncio.Task[None]"

    def drop(self) -> None:
        self.stream.close()
        self.ending.cancel()


class LocalRuntime:
    """Runs nodes on this machine."""

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
        admitted: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.layout = layout
        self._seats = layout.seats
        self._binary = binary
        self._trusts = trusts
        self._cors_origins = cors_origins
        self._logs = logs or Logs()
        self._grace_s = grace_s
        self._cgroups = cgroups
        self._admitted = admitted
        self._watched: dict[str, _Watched] = {}
        self._unknown: set[str] = set()  # of which the log was told
        self._turns = asyncio.Semaphore(_LET_IN_AT_ONCE)
        self._tell: Tell = lambda _, __: None
        layout.root.mkdir(parents=True, exist_ok=True)
        layout.root.chmod(0o711)  # whatever the umask: each node's user passes through

    async def start(
        self, node: Node, outfit: Outfit
    ) -> AsyncGenerator[Checkpoint, None]:
        """Make the node's folder and start lnd in it, or give the lnd that runs there.

        1. Whoever holds the claim is the node's lnd, and all there is to do. Without
           one, a node that has a wallet is started with that wallet or not at all.
        2. Write the folder: where it is and what is in it follows from the node alone,
           so that there is nothing to save, and doing it again mends it.
        3. Start lnd; from the fork on the claim is its, whatever becomes of us.
        4. Listen to it.
        """
        host = self._seats.host(node)
        running = processes.holder(self.layout.claim(node))
        new = running is None
        if running is None:
            self._refuse_without_wallet(node)
            lnd = await self._binary(node.version)
            if self._admitted is not None:
                await self._admitted()  # raises where no node may start now
            self._make_home(node, outfit, host)
            running = await self._spawn(node, lnd)
        self._follow(node, running, new=new)
        yield Checkpoint(
            host=host, process=running.written, revision=_revision(running)
        )

    async def stop(self, node: Node) -> None:
        """Ask lnd to end, wait as long as the grace is, then end it."""
        await processes.stop(Identity.read(node.process), grace_s=self._grace_s)
        if watched := self._watched.get(node.id):
            await asyncio.wait([watched.ending])  # so that the end has been seen

    async def remove(self, node: Node) -> None:
        """Remove the node's folder; refused while an lnd runs in it."""
        if processes.holder(self.layout.claim(node)) is not None:
            raise Conflict(f"node {node.id}: its lnd runs")
        self.forget(node.id)
        with contextlib.suppress(FileNotFoundError):
            await asyncio.to_thread(shutil.rmtree, self.layout.folder(node))

    async def observe(self, node: Node) -> Observation:
        """Say what is known of the process; listen to it from now on if it lives.

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
        """Tell of each state and each end from now on."""
        self._tell = tell

    def forget(self, node_id: str) -> None:
        """Stop listening to a node, which goes on."""
        if watched := self._watched.pop(node_id, None):
            watched.drop()

    def close(self) -> None:
        """Stop listening; the nodes go on."""
        for node_id in list(self._watched):
            self.forget(node_id)
        if self._cgroups is not None:
            self._cgroups.take_down()  # but for those that somebody is in

    def _refuse_without_wallet(self, node: Node) -> None:
        chain = self.layout.grounds[node.network].chain
        wallet = home.wallet(self.layout.home(node), chain)
        if node.has_wallet and not wallet.exists():
            raise SetupError(
                f"node {node.id} has a wallet, and {wallet} is not there; bring its "
                "folder back, or see `leyden home adopt --start-empty`"
            )

    def _is_unknown(self, node: Node) -> bool:
        folder = self.layout.folder(node)
        if not folder.is_dir():
            why = f"{folder} is not there"
        elif processes.is_a_strangers(self.layout.claim(node)):
            why = "its lnd runs where it cannot be seen from here"
        else:
            self._unknown.discard(node.id)
            return False
        if node.id not in self._unknown:
            self._unknown.add(node.id)
            log.error("node %s: whether its lnd runs is not known", node.id, why=why)
        return True

    def _make_home(self, node: Node, outfit: Outfit, host: str) -> None:
        folder = self.layout.folder(node)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)  # whatever the umask: lnd's user passes through, no more
        ground = self.layout.grounds[node.network]
        options = Options(
            version=node.version,
            chain=ground.chain,
            backend=ground.backend,
            rest_listen=(f"{host}:{self._seats.rest_port}",),
            rpc_listen=(f"{host}:{self._seats.grpc_port}",),
            domain=node.api_endpoint,
            cors_origins=self._cors_origins,
            logs=self._logs,
        )
        home.write(
            self.layout.home(node),
            outfit.settings,
            options,
            tls=outfit.tls,
            owner=self._seats.owner(node),
        )

    async def _spawn(self, node: Node, lnd: Path) -> Identity:
        lnd_home, output = self.layout.home(node), self.layout.output(node)
        with contextlib.suppress(FileNotFoundError):
            if output.stat().st_size > MOST_OUTPUT:
                output.unlink()  # thousands of crashes ago is of no use to anybody
        share, owner = self._seats.shares[node.type], self._seats.owner(node)
        return await processes.spawn(
            [str(lnd), f"--lnddir={lnd_home}"],
            log=output,
            claim=self.layout.claim(node),
            cwd=lnd_home,
            env={
                "HOME": str(lnd_home),
                _REVISION: str(node.revision),
                **share.environment,
            },
            limits=share.limits,
            uid=None if owner is None else owner.uid,
            gid=None if owner is None else owner.gid,
        )

    def _follow(self, node: Node, running: Identity, *, new: bool = False) -> _Watched:
        process = running.written
        watched = self._watched.get(node.id)
        if watched is not None:
            if watched.seen.process == process:
                return watched
            watched.drop()
        address = Address(
            self._seats.host(node), self._seats.rest_port, node.api_endpoint
        )

        def said(state: State) -> None:
            self._see(node.id, Observation(process=process, state=state))

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
        """Have the kernel hold it to its share, where the kernel can."""
        if self._cgroups is not None:
            share, loop = self._seats.shares[node.type], asyncio.get_running_loop()
            hold = partial(self._cgroups.hold, node.id, running, share)
            loop.call_later(after_s, loop.run_in_executor, None, hold)

    async def _await_end(self, node: Node, running: Identity) -> None:
        code = await _exited(running)
        self._watched[node.id].stream.close()
        if self._cgroups is not None and self._cgroups.let_go(node.id):
            log.warning("an lnd took more memory than its share", node=node.id)
        self._see(node.id, self._gone(node, running.written, code=code))

    def _gone(self, node: Node, process: str, *, code: int | None) -> Observation:
        file = home.log_file(
            self.layout.home(node), self.layout.grounds[node.network].chain
        )
        asked = endings.was_asked(endings.last_words(file), code)
        return Observation(process=process, alive=False, asked=asked)

    def _see(self, node_id: str, seen: Observation) -> None:
        self._watched[node_id].seen = seen
        self._tell(node_id, seen)


async def _exited(running: Identity) -> int | None:
    """Wait for the end, also while too many files are open to be told of it."""
    while True:
        try:
            return await processes.exited(running)
        except OSError:
            await asyncio.sleep(_AGAIN_S)


def _revision(running: Identity) -> int:
    """Give the revision an lnd was started with; 0 of one that is gone meanwhile."""
    try:
        environment = Path(f"/proc/{running.pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return 0
    for each in environment:
        name, _, value = each.partition(b"=")
        if name == _REVISION.encode() and value.isdigit():
            return int(value)
    return 0
