"""A runtime in memory, without lnd, for tests and trying things out.

It behaves as a real one does, and fails on request: `fails_after="host"`
ends each start after that step until `fails_after` is "" again. With `dies`
the start does not fail: it ends as if the calling program were killed. Having
failed after "checkpoint", its process was known already, and has ended.
"""

import asyncio
import errno
from collections.abc import AsyncGenerator, AsyncIterator

from leyden.domain.nodes import Node
from leyden.domain.observations import Observation, State
from leyden.domain.starts import Start, next_number
from leyden.errors import CannotStart, ClusterAway, Conflict, NodeAway
from leyden.lnd.tail import News, Place
from leyden.runtimes.base import Checkpoint, Found, LaunchSpec, Tell, Usage
from leyden.runtimes.copies import Content


class FakeRuntime:
    """A runtime that only stores that nodes run."""

    def __init__(self, *, fails_after: str = "", says: State | None = None) -> None:
        self.fails_after = fails_after
        self.dies = False
        self.says = says  # what each new lnd says at once
        self.homes: dict[str, LaunchSpec] = {}
        self.running: dict[str, Checkpoint] = {}
        self.starts: list[str] = []
        self.stops: list[str] = []
        self.outdated: set[str] = set()
        self._cut_off: set[str] = set()
        self._seen: dict[str, Observation] = {}
        self._tell: Tell = _nobody

    async def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Store a home, then a process; break off where the test asked for it."""
        self._refuse_cut_off(node)
        self._fail_after("nothing")
        if node.has_wallet and node.id not in self.homes:
            raise CannotStart(
                f"node {node.id}: its wallet is not here",
                reason="The node's folder is not on its machine.",
            )
        host = f"127.77.0.{node.slot % 255}"
        if node.id not in self.running:
            self.homes[node.id] = launch_spec
            yield Checkpoint(host=host)
            self._fail_after("host")
            self.starts.append(node.id)
            process = f"fake {len(self.starts)}"
            self.running[node.id] = Checkpoint(
                host=host, process=process, revision=node.revision
            )
            self._see(node.id, Observation(process=process, state=self.says))
            self._fail_after("process")
        yield self.running[node.id]
        if self.fails_after == "checkpoint":
            if not self.dies:
                self.end(node.id)
            self._fail_after("checkpoint")

    async def stop(self, node: Node) -> None:
        """End the process."""
        self._refuse_cut_off(node)
        self.stops.append(node.id)
        self.end(node.id)

    async def remove(self, node: Node) -> None:
        """Delete the home; refuse while an lnd runs in it."""
        self._refuse_cut_off(node)
        if node.id in self.running:
            raise Conflict(f"node {node.id}: its lnd runs")
        self.homes.pop(node.id, None)

    async def observe(self, node: Node) -> Observation:
        """Return what is known."""
        if node.id not in self.homes or node.id in self._cut_off:
            return Observation(process=node.process, known=False)
        seen = self._seen.get(node.id)
        if seen is None or seen.process != node.process:
            return Observation(process=node.process, alive=False)
        return seen

    def watch(self, tell: Tell) -> None:
        """Report what `say` and `end` make happen."""
        self._tell = tell

    def forget(self, node_id: str) -> None:
        """Do nothing: the watcher is told of all nodes."""

    def is_outdated(self, node: Node) -> bool:
        """Return what a test has put there."""
        return node.id in self.outdated

    async def run(self) -> None:
        """Keep nothing up."""

    def close(self) -> None:
        """Stop telling of nodes, which go on."""
        self._tell = _nobody

    def cut_off(self, node_id: str) -> None:
        """Let a node's machine be lost, for now; its lnd goes on there."""
        self._cut_off.add(node_id)

    def reconnect(self, node_id: str) -> None:
        """Let a node's machine be found again."""
        self._cut_off.discard(node_id)
        if node_id in self.running:
            self._tell(node_id, self._seen[node_id])

    def lose(self, node_id: str) -> None:
        """Delete a node's home, and its lnd without any report."""
        self.homes.pop(node_id, None)
        self.running.pop(node_id, None)

    def say(self, node_id: str, state: State) -> None:
        """Set the state of a node's lnd."""
        process = self.running[node_id].process
        self._see(node_id, Observation(process=process, state=state))

    def end(self, node_id: str, *, asked: bool = False) -> None:
        """End a node's lnd: stopped by its owner, or crashed."""
        running = self.running.pop(node_id, None)
        if running is not None:
            gone = Observation(process=running.process, alive=False, asked=asked)
            self._see(node_id, gone)

    def _refuse_cut_off(self, node: Node) -> None:
        if node.id in self._cut_off:
            raise NodeAway(f"node {node.id}: its machine does not answer")

    def _fail_after(self, step: str) -> None:
        if self.fails_after == step:
            if self.dies:
                raise asyncio.CancelledError
            raise OSError(errno.ENOSPC, "no space left on device")

    def _see(self, node_id: str, seen: Observation) -> None:
        self._seen[node_id] = seen
        self._tell(node_id, seen)


class FakeHomes:
    """Folders without lnds, filled by a test."""

    def __init__(self) -> None:
        self.logs: dict[str, list[str]] = {}
        self.channel_backups: dict[str, bytes] = {}
        self.public_keys: dict[str, str] = {}
        self.complaints: dict[str, list[str]] = {}  # each log, from its beginning
        self._looked: dict[str, bytes] = {}
        self.macaroons: dict[str, tuple[str, ...]] = {}
        self.usages: dict[str, Usage] = {}

    async def log(self, node: Node, lines: int) -> list[str]:
        """Return the last lines that were put there."""
        return self.logs.get(node.id, [])[-lines:]

    async def channel_backup(self, node: Node) -> bytes | None:
        """Return what was put there."""
        return self.channel_backups.get(node.id)

    async def public_key(self, node: Node) -> str:
        """Return what was put there."""
        return self.public_keys.get(node.id, "")

    def look(self, node: Node, place: Place) -> Found:
        """Return what a test has added since the last look."""
        backup = self.channel_backups.get(node.id)
        news = backup if backup != self._looked.get(node.id) else None
        if backup is not None:
            self._looked[node.id] = backup
        return Found(channel_backup=news, log=self._read_on(node, place))

    async def catch_up(self, node: Node, place: Place) -> News:
        """Read on, as `look` does."""
        return self._read_on(node, place) or News(place=place)

    def _read_on(self, node: Node, place: Place) -> News | None:
        lines = self.complaints.get(node.id, [])
        since = len(lines) if place.offset < 0 else place.offset
        if since == len(lines) and place.offset >= 0:
            return None
        return News(
            place=Place(inode=1, offset=len(lines)), complaints=tuple(lines[since:])
        )

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Delete the macaroons that a test has set, and return their names."""
        return self.macaroons.pop(node.id, ())

    async def usage(self, node: Node, *, disk: bool = True) -> Usage:  # noqa: ARG002
        """Return what was put there, or next to nothing."""
        return self.usages.get(node.id, Usage(memory=1, cpu_s=0.0, disk=1))


def _nobody(_: str, __: Observation) -> None:
    """Ignore an observation, until `watch` is called."""


class FakeSide:
    """A side of moves between fake runtimes: a home is its launch spec."""

    def __init__(self, runtime: FakeRuntime) -> None:
        self.runtime = runtime
        self.sealed: dict[str, LaunchSpec] = {}
        self.copies: dict[tuple[str, str], LaunchSpec] = {}
        self.fails = ""  # why nothing can be written here
        self.damages = False  # what is written here

    async def seal(self, node: Node, launch_spec: LaunchSpec) -> None:
        """End the node's lnd, and hide its home."""
        if node.id in self.sealed:
            return
        self.runtime.end(node.id)
        self.sealed[node.id] = self.runtime.homes.pop(node.id, launch_spec)

    async def content(self, node: Node) -> Content:
        """Return what is sealed, in a way."""
        return _content(node, damaged=False)

    async def read(self, node: Node) -> AsyncGenerator[bytes, None]:
        """Yield the node's id."""
        yield node.id.encode()

    async def write(
        self,
        node: Node,
        launch_spec: LaunchSpec,
        copy: str,
        archive: AsyncIterator[bytes],
    ) -> Content:
        """Store a copy."""
        if self.fails:
            raise ClusterAway(self.fails)
        async for _ in archive:
            pass
        self.copies[node.id, copy] = launch_spec
        return _content(node, damaged=self.damages)

    async def settle(self, node: Node, copy: str, last_start: Start) -> Start:
        """Put a copy where it can be started."""
        if (node.id, copy) in self.copies:
            self.runtime.homes[node.id] = self.copies.pop((node.id, copy))
        return Start(number=next_number(last_start, last_start), copy="")

    async def unseal(self, node: Node) -> None:
        """Put the sealed home back."""
        if node.id in self.sealed:
            self.runtime.homes[node.id] = self.sealed.pop(node.id)

    async def clean(self, node: Node) -> None:
        """Delete what was sealed, and copies."""
        self.sealed.pop(node.id, None)
        for each in [each for each in self.copies if each[0] == node.id]:
            del self.copies[each]


def _content(node: Node, *, damaged: bool) -> Content:
    return Content(digest="damaged" if damaged else node.id, size=len(node.id))
