"""A limit on nodes that start at once, with turns for organizations.

An lnd takes a second of CPU to start, and another one and 353 MB to unlock its
wallet, and many owners unlock theirs automatically, as soon as lnd asks. After a
reboot all nodes would do so in the same second, and so would the nodes that one
organization creates or restarts in a loop. So a start waits until fewer than
`limit` nodes are between launch and the end of unlocking.

Organizations take turns, and the last place is never for one that has all the
others: an organization that starts one node does not wait for another's forty.
"""

import asyncio
from typing import Final

from leyden.base.fair_queue import FairSlots
from leyden.nodes.rules.observations import LndState, Observation
from leyden.values import Struct

# Past this a start is stuck, and must not hold up the others.
_LONGEST_OPENING_S: Final = 60.0
# A wallet that a program unlocks is unlocked by then.
_UNLOCKED_BY_S: Final = 5.0
# The work is done: nothing to unlock, or unlocked.
_SETTLED: Final = frozenset(
    {LndState.NON_EXISTING, LndState.RPC_ACTIVE, LndState.SERVER_ACTIVE}
)


class _Slot(Struct):
    """A place that a starting node has, until the timer ends."""

    organization_id: str
    timer: asyncio.TimerHandle


class StartLimit:
    """A limit on starting nodes; organizations take turns."""

    def __init__(
        self,
        limit: int,
        *,
        longest_s: float = _LONGEST_OPENING_S,
        unlocked_by_s: float = _UNLOCKED_BY_S,
    ) -> None:
        self._slots = FairSlots(limit, lambda _organization_id: max(1, limit - 1))
        self._longest_s = longest_s
        self._unlocked_by_s = unlocked_by_s
        self._opening: dict[str, _Slot] = {}

    async def acquire(self, node_id: str, organization_id: str) -> None:
        """Wait for a place; it is released when started, or after a minute."""
        if node_id in self._opening:
            self._until(node_id, self._longest_s)
            return
        await self._slots.acquire(organization_id)
        self.release(node_id)  # if it was waited for twice
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._longest_s, self.release, node_id)
        self._opening[node_id] = _Slot(organization_id, timer)

    def update(self, node_id: str, observation: Observation) -> None:
        """Update a node's progress; release its place when it has started."""
        if node_id not in self._opening:
            return
        if not observation.alive or observation.state in _SETTLED:
            self.release(node_id)
        elif observation.state is LndState.LOCKED:
            self._until(node_id, self._unlocked_by_s)
        elif observation.state is LndState.UNLOCKED:
            self._until(node_id, self._longest_s)

    def release(self, node_id: str) -> None:
        """Release a place to the next node that waits; no-op if released."""
        if (opening := self._opening.pop(node_id, None)) is not None:
            opening.timer.cancel()
            self._slots.release(opening.organization_id)

    def _until(self, node_id: str, max_s: float) -> None:
        opening, loop = self._opening[node_id], asyncio.get_running_loop()
        opening.timer.cancel()
        opening.timer = loop.call_later(max_s, self.release, node_id)
