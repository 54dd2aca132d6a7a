"""A limit on nodes that start at once, with turns for organizations.

An lnd takes a second of CPU to start, and another one and 353 MB to unlock its
wallet, and many owners unlock theirs automatically, as soon as lnd asks. After a
reboot all nodes would do so in the same second, and so would the nodes that one
organization creates or restarts in a loop. So a start waits until fewer than
`most` nodes are between launch and the end of unlocking.

Organizations take turns, and the last place is never for one that has all the
others: an organization that starts one node does not wait for another's forty.
"""

import asyncio
from collections import Counter, deque
from typing import Final

from leyden.domain.observations import Observation, State
from leyden.values import Struct

# Past this a start is stuck, and must not hold up the others.
_LONGEST_OPENING_S: Final = 60.0
# A wallet that a program unlocks is unlocked by then.
_UNLOCKED_BY_S: Final = 5.0
# The work is done: nothing to unlock, or unlocked.
_SETTLED: Final = frozenset({State.NON_EXISTING, State.RPC_ACTIVE, State.SERVER_ACTIVE})


class _Place(Struct):
    """A place that a starting node has, until the timer ends."""

    organization_id: str
    timer: asyncio.TimerHandle


class StartLimit:
    """A limit on starting nodes; organizations take turns."""

    def __init__(
        self,
        most: int,
        *,
        longest_s: float = _LONGEST_OPENING_S,
        unlocked_by_s: float = _UNLOCKED_BY_S,
    ) -> None:
        self._most = most
        self._share = max(1, most - 1)  # of one organization
        self._longest_s = longest_s
        self._unlocked_by_s = unlocked_by_s
        self._opening: dict[str, _Place] = {}
        self._opening_of: Counter[str] = Counter()  # by organization
        # Whose turn is next comes first; each with the nodes that wait.
        self._waiting: dict[str, deque[tuple[str, asyncio.Future[None]]]] = {}

    async def acquire(self, node_id: str, organization_id: str) -> None:
        """Wait for a place; it is released when started, or after a minute."""
        if node_id in self._opening:
            self._until(node_id, self._longest_s)
            return
        place: asyncio.Future[None] = asyncio.Future()
        queue = self._waiting.setdefault(organization_id, deque())
        queue.append((node_id, place))
        self._next()
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self.release(node_id)  # the place that was given is another's
            raise

    def update(self, node_id: str, seen: Observation) -> None:
        """Update a node's progress; release its place when it has started."""
        if node_id not in self._opening:
            return
        if not seen.alive or seen.state in _SETTLED:
            self.release(node_id)
        elif seen.state is State.LOCKED:
            self._until(node_id, self._unlocked_by_s)
        elif seen.state is State.UNLOCKED:
            self._until(node_id, self._longest_s)

    def release(self, node_id: str) -> None:
        """Release a place to the next node that waits; no-op if released."""
        if (place := self._opening.pop(node_id, None)) is not None:
            place.timer.cancel()
            self._opening_of[place.organization_id] -= 1
            self._opening_of += Counter()  # which forgets who has none
            self._next()

    def _until(self, node_id: str, most_s: float) -> None:
        place, loop = self._opening[node_id], asyncio.get_running_loop()
        place.timer.cancel()
        place.timer = loop.call_later(most_s, self.release, node_id)

    def _next(self) -> None:
        """Assign the free places to those whose turn it is."""
        while len(self._opening) < self._most:
            of = next(filter(self._may_start, self._waiting), None)
            if of is None:
                return
            queue = self._waiting.pop(of)
            node_id, place = queue.popleft()
            if queue:
                self._waiting[of] = queue  # behind the other organizations
            if not place.cancelled():
                self._enter(node_id, of)
                place.set_result(None)

    def _may_start(self, organization_id: str) -> bool:
        return self._opening_of[organization_id] < self._share

    def _enter(self, node_id: str, organization_id: str) -> None:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._longest_s, self.release, node_id)
        self._opening[node_id] = _Place(organization_id, timer)
        self._opening_of[organization_id] += 1
