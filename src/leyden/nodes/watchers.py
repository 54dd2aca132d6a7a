"""Watching nodes: receiving their observations, in one process.

That process is the one that has claimed a task, which runs as long as it is
claimed. It finds the nodes again, listens to them, and is the only one to
take their tasks. If it dies, another takes over when the claim ends. A
process that slept past its claim can write nothing, because all its writes
are fenced by the claim.
"""

import asyncio
import logging
from collections import deque
from datetime import timedelta
from typing import Final

from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import Away, LeydenError, Lost, NotFound, Stale
from leyden.nodes import reconciler
from leyden.nodes.fleet import EVERYTHING, NODE, ROUTES, Fleet
from leyden.nodes.rules.node_moves import NodeStep, plan
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.observations import Observation, observe
from leyden.values import Struct, field

log = logging.getLogger(__name__)

# A third of what "taken over within 30 s" allows; the rest is for finding nodes again.
CLAIM_FOR: Final = timedelta(seconds=10)
# The shards in which versions before this one watched nodes.
RETIRED: Final = "watch"
_RETRY_AFTER_S: Final = 1.0
_LOOK_EVERY_S: Final = 10.0
_STALE_S: Final = 0.01
# Other tasks of the event loop wait for this many nodes at most, at 0.5 ms each.
_AT_A_TIME: Final = 8


async def retire(_due: ClaimedTask) -> None:
    """End the task of a shard, once no process of such a version watches it."""


class _Held(Struct, eq=False):
    """The claim on all nodes, and the processes listened to for it, by node."""

    work: ClaimedTask
    nodes: dict[str, str] = field(default_factory=dict)
    is_complete: bool = False  # all nodes were looked at


class Watching:
    """Watches all nodes, while this process has claimed that.

    Observations are stored in order for each node, and for all nodes at once.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.claim_for = CLAIM_FOR
        self.found = asyncio.Event()  # the nodes were, for the first time
        self.adopted = 0
        self._held: _Held | None = None
        self._waiting: dict[str, deque[Observation]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def watch(self, work: ClaimedTask) -> None:
        """Watch the nodes for as long as that is claimed."""
        try:
            self.adopted = await self.adopt(work)
            self.found.set()
            await asyncio.Event().wait()  # until another process has it, or we stop
        finally:
            held = self._held
            if held is not None and held.work is work:
                self._held = None
                for node_id in held.nodes:
                    self._fleet.runtime.unwatch(node_id)

    async def adopt(self, work: ClaimedTask) -> int:
        """Find all lnds again; return how many are running.

        Running lnds are listened to from now on and not touched. Those that
        ended meanwhile are recorded as ended. Nodes whose state is unknown are
        not changed. Everything due is queued, and what could not be looked at.
        """
        fleet, adopted = self._fleet, 0
        held, unseen = _Held(work), set[str]()
        self._held = held
        nodes = await fleet.database.reader.nodes.all_()
        for number, node in enumerate(nodes, start=1):
            observation = await self._observation(node) if node.has_process else None
            if observation is not None:
                adopted += observation.known and observation.alive
                held.nodes[node.id] = node.process if observation.known else ""
                # Of most there is nothing new, and reading each again takes seconds of
                # thousands; what changed meanwhile their streams tell in a moment.
                if observe(node, observation, fleet.clock()) == node:
                    fleet.starts.update(node.id, observation)
                else:
                    await self._store(held, node.id, observation)
            elif node.has_process:
                unseen.add(node.id)
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        now = fleet.clock()
        async with work.transaction() as tx:
            for node in nodes:
                if plan(node, now) is not NodeStep.NOTHING or node.id in unseen:
                    due = (
                        max(node.due, now) if plan(node, now) is NodeStep.WAIT else now
                    )
                    await tx.tasks.put(NODE, node.id, due=due)
            await tx.tasks.put(ROUTES, EVERYTHING, due=now)
        held.is_complete = True
        return adopted

    def enqueue(self, node_id: str, observation: Observation) -> None:
        """Queue an observation, to be stored after the node's earlier ones."""
        self._fleet.starts.update(node_id, observation)
        waiting = self._waiting.get(node_id)
        if waiting is not None:
            waiting.append(observation)
            return
        self._waiting[node_id] = deque([observation])
        task = asyncio.create_task(
            self._store_waiting(node_id), name=f"seen of {node_id}"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def poll_unwatched(self) -> None:
        """Check every 10 s for nodes that are not listened to, until cancelled.

        Such a node was started by a process that lost the claim meanwhile, or nothing
        of it was there when nodes were found again.
        """
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            try:
                await self.check()
            except Away as error:
                log.info("could not check nodes", extra={"why": error.message})

    async def check(self) -> None:
        """Listen to nodes that are not listened to yet, if this process watches."""
        fleet, held = self._fleet, self._held
        if held is None or not held.is_complete:
            return
        for node in await fleet.node_cache.nodes(fleet.database.reader.nodes):
            if node.has_process and held.nodes.get(node.id) != node.process:
                observation = await self._observation(node)
                if observation is None:
                    continue
                if observation.known:
                    held.nodes[node.id] = node.process
                    self.enqueue(node.id, observation)
                elif observe(node, observation, fleet.clock()) != node:
                    self.enqueue(node.id, observation)

    async def _observation(self, node: Node) -> Observation | None:
        """Return what is known of a node; None where it cannot be looked at.

        Its folder cannot be read, say. It must not keep the others from being heard.
        """
        try:
            return await self._fleet.runtime.observe(node)
        except (LeydenError, OSError) as error:
            log.warning(
                "node %s: could not be looked at", node.id, extra={"why": str(error)}
            )
            return None

    async def settled(self) -> None:
        """Wait until all observations so far are stored."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        """Stop listening; the next start observes all nodes again."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _store_waiting(self, node_id: str) -> None:
        waiting = self._waiting[node_id]
        try:
            while waiting:
                if (held := self._held) is None:
                    await self._hand_over(node_id)
                    return
                if waiting[0].known and waiting[0].alive:
                    held.nodes[node_id] = waiting[0].process
                await self._store(held, node_id, waiting[0])
                waiting.popleft()
        except Lost:
            await self._hand_over(node_id)
        except NotFound:
            pass  # a process of a node that this database does not know
        finally:
            del self._waiting[node_id]

    async def _store(self, held: _Held, node_id: str, observation: Observation) -> None:
        """Store an observation, retrying; raise Lost if the node is not ours."""
        while True:
            try:
                known = await reconciler.store_observation(
                    self._fleet, held.work, node_id, observation
                )
                if known is not None and observation.known:
                    await self._retry_now(held, known)
            except Lost:
                raise
            except (Stale, Away) as error:
                log.info(
                    "node %s: not recorded yet", node_id, extra={"why": error.message}
                )
                away = isinstance(error, Away)
                await asyncio.sleep(_RETRY_AFTER_S if away else _STALE_S)
            else:
                return

    async def _retry_now(self, held: _Held, node: Node) -> None:
        """Retry now what is due for a node, if it waits for its next try.

        It failed while the node's machine was unreachable, and would wait for minutes.
        """
        now = self._fleet.clock()
        if plan(node, now) not in {NodeStep.NOTHING, NodeStep.WAIT}:
            async with held.work.transaction() as tx:
                await tx.tasks.put(NODE, node.id, due=now)

    async def _hand_over(self, node_id: str) -> None:
        """Stop listening to a node that is not ours; queue its task."""
        self._fleet.runtime.unwatch(node_id)
        try:
            async with self._fleet.database.transaction() as tx:
                await tx.tasks.put(NODE, node_id, due=self._fleet.clock())
        except (Stale, Away) as error:
            log.info(
                "node %s: could not notify workers",
                node_id,
                extra={"why": error.message},
            )
