"""A runtime in memory, without lnd, for tests and trying things out.

It behaves as a real one does, and fails on request: `fails_after="host"` ends
each start after that step until `fails_after` is "" again. With `dies` the start
does not fail: it ends as if the calling program were killed. If it fails after
"checkpoint", its process was already reported, and has ended.
"""

import asyncio
import errno
from collections.abc import AsyncGenerator

from leyden.errors import CannotStart, Conflict, NodeAway
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.observations import UNEXPLAINED, End, LndState, Observation
from leyden.nodes.runtimes.base import Checkpoint, LaunchSpec, OnObservation


class FakeRuntime:
    """A runtime that only stores that nodes run."""

    def __init__(self, *, fails_after: str = "", says: LndState | None = None) -> None:
        self.fails_after = fails_after
        self.dies = False
        self.says = says  # the first state of each new lnd
        self.homes: dict[str, LaunchSpec] = {}
        self.running: dict[str, Checkpoint] = {}
        self.starts: list[str] = []
        self.stops: list[str] = []
        self.outdated: set[str] = set()
        self.unreadable: set[str] = set()  # nodes whose folder cannot be read
        self._cut_off: set[str] = set()
        self._seen: dict[str, Observation] = {}
        self._on_observation: OnObservation = _nobody

    async def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Store a home, then a process; fail at the step that the test chose."""
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
        """Return the last observation."""
        if node.id in self.unreadable:
            raise OSError(errno.EIO, "input/output error")
        if node.id not in self.homes or node.id in self._cut_off:
            why = "its machine does not respond"
            return Observation(process=node.process, known=False, why=why)
        found = self._seen.get(node.id)
        if found is None or found.process != node.process:
            return Observation(process=node.process, alive=False)
        return found

    def watch(self, on_observation: OnObservation) -> None:
        """Report the changes that `say` and `end` make."""
        self._on_observation = on_observation

    def unwatch(self, node_id: str) -> None:
        """Do nothing: the watcher gets observations of all nodes."""

    def is_outdated(self, node: Node) -> bool:
        """Return whether a test has marked the node as outdated."""
        return node.id in self.outdated

    async def run(self) -> None:
        """Maintain nothing."""

    def close(self) -> None:
        """Stop reporting observations; the nodes keep running."""
        self._on_observation = _nobody

    def cut_off(self, node_id: str) -> None:
        """Make a node's machine unreachable; its lnd keeps running there."""
        self._cut_off.add(node_id)
        if (running := self.running.get(node_id)) is not None:
            process, why = running.process, "its machine does not respond"
            unknown = Observation(process=process, known=False, why=why)
            self._on_observation(node_id, unknown)

    def reconnect(self, node_id: str) -> None:
        """Make a node's machine reachable again."""
        self._cut_off.discard(node_id)
        if node_id in self.running:
            self._on_observation(node_id, self._seen[node_id])

    def lose(self, node_id: str) -> None:
        """Delete a node's home, and its lnd without any report."""
        self.homes.pop(node_id, None)
        self.running.pop(node_id, None)
        self._seen.pop(node_id, None)

    def say(self, node_id: str, state: LndState) -> None:
        """Set the state of a node's lnd."""
        process = self.running[node_id].process
        self._see(node_id, Observation(process=process, state=state))

    def end(
        self, node_id: str, *, is_requested: bool = False, end: End = UNEXPLAINED
    ) -> None:
        """End a node's lnd: stopped by its owner, or as `end` says."""
        running = self.running.pop(node_id, None)
        if running is not None:
            gone = Observation(
                process=running.process,
                alive=False,
                stopped_by_owner=is_requested,
                end=end,
            )
            self._see(node_id, gone)

    def _refuse_cut_off(self, node: Node) -> None:
        if node.id in self._cut_off:
            raise NodeAway(f"node {node.id}: its machine does not respond")

    def _fail_after(self, step: str) -> None:
        if self.fails_after == step:
            if self.dies:
                raise asyncio.CancelledError
            raise OSError(errno.ENOSPC, "no space left on device")

    def _see(self, node_id: str, observation: Observation) -> None:
        self._seen[node_id] = observation
        self._on_observation(node_id, observation)


def _nobody(_: str, __: Observation) -> None:
    """Ignore an observation, until `watch` is called."""
