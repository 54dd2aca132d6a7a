"""A runtime without lnd, for tests and for trying things out: it lives in memory.

It does what a real one does, and fails when told to: `fails_after="host"` breaks off
each start after that step until `fails_after` is "" again. With `dies` it does not fail
there: it is as if the program that asks were killed.
"""

import asyncio
from collections.abc import AsyncGenerator

from leyden.domain.nodes import Node
from leyden.domain.observations import Observation, State
from leyden.errors import Conflict, SetupError
from leyden.lnd.tail import News, Place
from leyden.runtimes.base import Checkpoint, Found, Outfit, Tell, Usage


class FakeRuntime:
    """Runs nodes by remembering that it does."""

    def __init__(self, *, fails_after: str = "", says: State | None = None) -> None:
        self.fails_after = fails_after
        self.dies = False
        self.says = says  # what each new lnd says at once
        self.homes: dict[str, Outfit] = {}
        self.running: dict[str, Checkpoint] = {}
        self.starts: list[str] = []
        self.stops: list[str] = []
        self._seen: dict[str, Observation] = {}
        self._tell: Tell = _nobody

    async def start(
        self, node: Node, outfit: Outfit
    ) -> AsyncGenerator[Checkpoint, None]:
        """Remember a home, then a process; break off where it was told to."""
        self._fail_after("nothing")
        if node.has_wallet and node.id not in self.homes:
            raise SetupError(f"node {node.id}: its wallet is not here")
        host = f"127.77.0.{node.slot % 255}"
        if node.id not in self.running:
            self.homes[node.id] = outfit
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

    async def stop(self, node: Node) -> None:
        """End the process."""
        self.stops.append(node.id)
        self.end(node.id)

    async def remove(self, node: Node) -> None:
        """Forget the home; refused while an lnd runs in it."""
        if node.id in self.running:
            raise Conflict(f"node {node.id}: its lnd runs")
        self.homes.pop(node.id, None)

    async def observe(self, node: Node) -> Observation:
        """Say what is known."""
        if node.id not in self.homes:
            return Observation(process=node.process, known=False)
        seen = self._seen.get(node.id)
        if seen is None or seen.process != node.process:
            return Observation(process=node.process, alive=False)
        return seen

    def watch(self, tell: Tell) -> None:
        """Tell of what `say` and `end` make happen."""
        self._tell = tell

    def forget(self, node_id: str) -> None:
        """Do nothing: whoever watches hears of all nodes."""

    def lose(self, node_id: str) -> None:
        """Let a node's home vanish, and its lnd without a word."""
        self.homes.pop(node_id, None)
        self.running.pop(node_id, None)

    def say(self, node_id: str, state: State) -> None:
        """Let a node's lnd come to a state."""
        process = self.running[node_id].process
        self._see(node_id, Observation(process=process, state=state))

    def end(self, node_id: str, *, asked: bool = False) -> None:
        """Let a node's lnd end: by its owner's wish, or by a crash."""
        running = self.running.pop(node_id, None)
        if running is not None:
            gone = Observation(process=running.process, alive=False, asked=asked)
            self._see(node_id, gone)

    def _fail_after(self, step: str) -> None:
        if self.fails_after == step:
            if self.dies:
                raise asyncio.CancelledError
            raise OSError("no space left on device")

    def _see(self, node_id: str, seen: Observation) -> None:
        self._seen[node_id] = seen
        self._tell(node_id, seen)


class FakeHomes:
    """Folders of lnds that are none; a test puts in what it wants to be found."""

    def __init__(self) -> None:
        self.logs: dict[str, list[str]] = {}
        self.channel_backups: dict[str, bytes] = {}
        self.complaints: dict[str, list[str]] = {}  # each log, from its beginning
        self._looked: dict[str, bytes] = {}
        self.macaroons: dict[str, tuple[str, ...]] = {}

    async def log(self, node: Node, lines: int) -> list[str]:
        """Give the last lines that were put there."""
        return self.logs.get(node.id, [])[-lines:]

    async def channel_backup(self, node: Node) -> bytes | None:
        """Give what was put there."""
        return self.channel_backups.get(node.id)

    def look(self, node: Node, place: Place) -> Found:
        """Return what was put there since the last look."""
        backup = self.channel_backups.get(node.id)
        news = backup if backup != self._looked.get(node.id) else None
        if backup is not None:
            self._looked[node.id] = backup
        return Found(channel_backup=news, log=self._read_on(node, place))

    async def catch_up(self, node: Node, place: Place) -> News:
        """Read on, as a look does."""
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
        """Forget the macaroons that were put there, and name them."""
        return self.macaroons.pop(node.id, ())

    async def usage(self, node: Node, *, disk: bool = True) -> Usage:  # noqa: ARG002
        """Say that it takes next to nothing."""
        return Usage(memory=1, cpu_s=0.0, disk=1)


def _nobody(_: str, __: Observation) -> None:
    """Nobody listens yet."""
