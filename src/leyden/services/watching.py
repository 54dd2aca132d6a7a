"""Watching nodes: hearing what becomes of them, each by one process at a time.

Nodes are shared out by their slots in shards, and each shard is a task that goes on for
as long as it is held: its holder finds the nodes of it again, listens to them, and is
the only one to take their tasks. Where a holder dies, another takes the shard over when
its claim ends; a holder that slept through that writes nothing any more, because all it
writes is fenced by its claim.

On SQLite there is one process, and one shard.
"""

import asyncio
from collections import deque
from datetime import timedelta
from typing import Final

from leyden import logs
from leyden.domain.node_moves import Step, plan
from leyden.domain.observations import Observation
from leyden.errors import Away, Lost, NotFound, Stale
from leyden.services import reconciler
from leyden.services.due import Due
from leyden.services.fleet import EVERYTHING, NODE, ROUTES, WATCH, Fleet
from leyden.storage.tasks import Shards
from leyden.values import Struct, field

log = logs.get()

# Half of what "taken over within 30 s" allows: the rest is for finding nodes again.
LEASE: Final = timedelta(seconds=15)
# Where nobody else could take over there is nothing to write every few seconds.
LEASE_ALONE: Final = timedelta(days=1)
SHARDS: Final = 64
_AGAIN_S: Final = 1.0
_STALE_S: Final = 0.01
# Nobody else waits for longer than these few take: half a millisecond each.
_AT_A_TIME: Final = 8


class _Held(Struct, eq=False):
    """A shard in hand, and the processes that are listened to for it, by node."""

    work: Due
    release: asyncio.Event = field(default_factory=asyncio.Event)
    nodes: dict[str, str] = field(default_factory=dict)


class Watching:
    """Watches the shards that this process holds.

    What is heard is taken in in order for each node, at once for all.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        alone = fleet.database.is_alone
        self.shards = Shards(kind=WATCH, number=1 if alone else SHARDS)
        self.lease = LEASE_ALONE if alone else LEASE
        self.found = asyncio.Event()  # the nodes of the first shards are
        self.adopted = 0
        self._share = self.shards.number
        self._held: dict[int, _Held] = {}
        self._adopting = 0
        self._heard: dict[str, deque[Observation]] = {}
        self._hands: set[asyncio.Task[None]] = set()

    @property
    def keys(self) -> list[str]:
        """Name the tasks that the shards are, in the order in which they are locked."""
        return sorted(map(str, range(self.shards.number)))

    def share(self) -> int:
        """Say how many shards this process takes."""
        return self._share

    def share_with(self, watchers: int) -> None:
        """Take a fair share of the shards, and release what is more than that."""
        self._share = -(-self.shards.number // max(1, watchers))
        for held in list(self._held.values())[self._share :]:
            held.release.set()

    async def watch(self, work: Due) -> None:
        """Watch the nodes of a shard for as long as it is held."""
        shard = int(work.key)
        held = self._held[shard] = _Held(work)
        try:
            await self._begin(shard, held)
            await held.release.wait()
            async with work.transaction() as tx:
                await work.again(tx, due=self._fleet.clock())
        finally:
            if self._held.get(shard) is held:
                del self._held[shard]
                for node_id in held.nodes:
                    self._fleet.runtime.forget(node_id)

    async def _begin(self, shard: int, held: _Held) -> None:
        self._adopting += 1
        try:
            self.adopted += await self.adopt(shard, held.work)
        finally:
            self._adopting -= 1
        async with held.work.transaction() as tx:
            until = self._fleet.clock() + self.lease
            await tx.tasks.stand(held.work.claim, until=until)
        if not self._adopting:
            self.found.set()

    async def adopt(self, shard: int, work: Due) -> int:
        """Find every lnd of a shard again, let be done what is due; return how many.

        Those that live are listened to from now on and not touched. Those that ended
        while nobody looked are seen to have. Of those of which nothing is known,
        nothing is changed.
        """
        fleet, adopted = self._fleet, 0
        held = self._held.setdefault(shard, _Held(work))
        nodes = await fleet.database.reader.nodes.of_shard(
            shard, shards=self.shards.number
        )
        for number, node in enumerate(nodes, start=1):
            if node.has_process:
                seen = await fleet.runtime.observe(node)
                adopted += seen.known and seen.alive
                held.nodes[node.id] = node.process
                await self._write_down(held, node.id, seen)
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        now = fleet.clock()
        async with work.transaction() as tx:
            for node in nodes:
                if plan(node, now) is not Step.NOTHING:
                    due = max(node.due, now) if plan(node, now) is Step.WAIT else now
                    await tx.tasks.put(NODE, node.id, due=due)
            await tx.tasks.put(ROUTES, EVERYTHING, due=now)
        return adopted

    def hear(self, node_id: str, seen: Observation) -> None:
        """Take note; it is written down as soon as the node's turn comes."""
        self._fleet.starts.see(node_id, seen)
        waiting = self._heard.get(node_id)
        if waiting is not None:
            waiting.append(seen)
            return
        self._heard[node_id] = deque([seen])
        hand = asyncio.create_task(self._take_in(node_id), name=f"seen of {node_id}")
        self._hands.add(hand)
        hand.add_done_callback(self._hands.discard)

    async def tend(self) -> None:
        """Look now and then for nodes of ours that nobody listens to, until cancelled.

        Their start was another process's, which lost their shard meanwhile.
        """
        while True:
            await asyncio.sleep(self._fleet.rules.look_every.total_seconds())
            try:
                await self.look()
            except Away as error:
                log.info("nodes were not looked at", why=error.message)

    async def look(self) -> None:
        """Listen to the nodes of ours that are not listened to."""
        if not self._held:
            return
        fleet = self._fleet
        for node in await fleet.roll.call(fleet.database.reader.nodes):
            held = self._held.get(node.slot % self.shards.number)
            if (
                held is not None
                and node.has_process
                and held.nodes.get(node.id) != node.process
            ):
                seen = await fleet.runtime.observe(node)
                if seen.known:
                    held.nodes[node.id] = node.process
                    self.hear(node.id, seen)

    async def settled(self) -> None:
        """Wait until everything heard so far is written down."""
        while self._hands:
            await asyncio.gather(*self._hands)

    async def close(self) -> None:
        """Stop listening; what was not written down is seen again at the next start."""
        for hand in list(self._hands):
            hand.cancel()
        await asyncio.gather(*self._hands, return_exceptions=True)

    async def _take_in(self, node_id: str) -> None:
        waiting = self._heard[node_id]
        try:
            while waiting:
                held = await self._held_of(node_id)
                if held is None:
                    await self._leave_to_others(node_id)
                    return
                if waiting[0].alive:
                    held.nodes[node_id] = waiting[0].process
                await self._write_down(held, node_id, waiting[0])
                waiting.popleft()
        except Lost:
            await self._leave_to_others(node_id)
        except NotFound:
            pass  # a process of a node that this database does not know
        finally:
            del self._heard[node_id]

    async def _held_of(self, node_id: str) -> _Held | None:
        """Return the shard of a node, if we hold it."""
        if self.shards.number == 1:
            return self._held.get(0)
        while True:
            try:
                node = await self._fleet.database.reader.nodes.get(node_id)
            except Away:
                await asyncio.sleep(_AGAIN_S)
                continue
            return self._held.get(node.slot % self.shards.number)

    async def _write_down(self, held: _Held, node_id: str, seen: Observation) -> None:
        """Write down what was seen, however often it takes; Lost if it is not ours."""
        while True:
            try:
                await reconciler.see(self._fleet, held.work, node_id, seen)
            except Lost:
                raise
            except (Stale, Away) as error:
                log.info("node %s: not noted yet", node_id, why=error.message)
                away = isinstance(error, Away)
                await asyncio.sleep(_AGAIN_S if away else _STALE_S)
            else:
                return

    async def _leave_to_others(self, node_id: str) -> None:
        """Stop listening to a node that is not ours, and let its holder look at it."""
        self._fleet.runtime.forget(node_id)
        try:
            async with self._fleet.database.transaction() as tx:
                await tx.tasks.put(NODE, node_id, due=self._fleet.clock())
        except (Stale, Away) as error:
            log.info("node %s: nobody was told to look", node_id, why=error.message)
