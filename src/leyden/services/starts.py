"""How many nodes may be opening at once.

An lnd takes a second of processor and 353 MB to unlock its wallet, and many owners have
theirs unlocked as soon as it asks. After a reboot of the machine all of them would do
so in the same second. So a start waits until fewer than `most` nodes are between their
launch and the end of their unlocking.
"""

import asyncio
from collections import deque
from typing import Final

from leyden.domain.observations import Observation, State

# Past this a start is stuck, and must not hold up the others.
_LONGEST_OPENING_S: Final = 60.0
# Whoever has his wallet unlocked by a program has done so by then.
_UNLOCKED_BY_S: Final = 5.0
# The work is done: nothing to unlock, or unlocked.
_SETTLED: Final = frozenset({State.NON_EXISTING, State.RPC_ACTIVE, State.SERVER_ACTIVE})


class Starts:
    """Lets so many in at a time, in the order in which they came."""

    def __init__(
        self,
        most: int,
        *,
        longest_s: float = _LONGEST_OPENING_S,
        unlocked_by_s: float = _UNLOCKED_BY_S,
    ) -> None:
        self._most = most
        self._longest_s = longest_s
        self._unlocked_by_s = unlocked_by_s
        self._opening: dict[str, asyncio.TimerHandle] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self, node_id: str) -> None:
        """Wait for a place; it is given up by what is seen, or after a minute."""
        while len(self._opening) >= self._most and node_id not in self._opening:
            place: asyncio.Future[None] = asyncio.Future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                self._next()  # the place that was offered is another's
                raise
        self._until(node_id, self._longest_s)

    def see(self, node_id: str, seen: Observation) -> None:
        """Hear how far a node has come."""
        if node_id not in self._opening:
            return
        if not seen.alive or seen.state in _SETTLED:
            self.leave(node_id)
        elif seen.state is State.LOCKED:
            self._until(node_id, self._unlocked_by_s)
        elif seen.state is State.UNLOCKED:
            self._until(node_id, self._longest_s)

    def leave(self, node_id: str) -> None:
        """Give a place up; the next one in line has it. Twice is the same as once."""
        if (timer := self._opening.pop(node_id, None)) is not None:
            timer.cancel()
            self._next()

    def _until(self, node_id: str, most_s: float) -> None:
        if (timer := self._opening.get(node_id)) is not None:
            timer.cancel()
        loop = asyncio.get_running_loop()
        self._opening[node_id] = loop.call_later(most_s, self.leave, node_id)

    def _next(self) -> None:
        while self._waiting and len(self._opening) < self._most:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
