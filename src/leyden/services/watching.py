"""Hearing what becomes of nodes, and finding them again after a restart of ours."""

import asyncio
from collections import deque

from leyden import logs
from leyden.domain.node_moves import Step, plan
from leyden.domain.observations import Observation
from leyden.errors import Away, NotFound, Stale
from leyden.services import reconciler
from leyden.services.fleet import EVERYTHING, NODE, ROUTES, Fleet

log = logs.get()

_AGAIN_S = 1.0
# Nobody else waits for longer than these few take: half a millisecond each.
_AT_A_TIME = 8


class Watching:
    """Takes in what the runtime tells, in order for each node, at once for all."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._heard: dict[str, deque[Observation]] = {}
        self._hands: set[asyncio.Task[None]] = set()

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
                try:
                    await reconciler.see(self._fleet, node_id, waiting[0])
                except (Stale, Away) as error:
                    log.info("node %s: not noted yet", node_id, why=error.message)
                    if isinstance(error, Away):
                        await asyncio.sleep(_AGAIN_S)
                    continue
                except NotFound:
                    pass  # a process of a node that this database does not know
                waiting.popleft()
        finally:
            del self._heard[node_id]


async def adopt(fleet: Fleet) -> int:
    """Find every node's lnd again, and put to work whatever is due; give the number.

    Those that live are listened to from now on and not touched. Those that ended while
    nobody looked are seen to have.
    """
    adopted = 0
    nodes = await fleet.database.reader.nodes.all_()
    for number, node in enumerate(nodes, start=1):
        if node.has_process:
            seen = await fleet.runtime.observe(node)
            adopted += seen.alive
            await reconciler.see(fleet, node.id, seen)
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    now = fleet.clock()
    async with fleet.database.transaction() as tx:
        for node in nodes:
            if plan(node, now) is not Step.NOTHING:
                due = max(node.due, now) if plan(node, now) is Step.WAIT else now
                await tx.tasks.put(NODE, node.id, due=due)
        await tx.tasks.put(ROUTES, EVERYTHING, due=now)
    return adopted
