"""A queue of writers to a SQLite file, in which organizations take turns.

A group that is committed together has only a few writers of each organization, so that
a writer that arrives meanwhile does not wait for fifty of another one. The platform's
own writers are not limited.
"""

import asyncio
from collections import Counter

from leyden.base.fair_queue import OWNER, PLATFORM, FairQueue
from leyden.values import Struct, field

_LARGEST_GROUP = 256
_MAX_OF_ONE = 8


class Turn(Struct, eq=False):
    """A writer's place in the queue."""

    granted: asyncio.Future[None] = field(default_factory=asyncio.Future)
    finished: asyncio.Future[bool] = field(default_factory=asyncio.Future)
    durable: asyncio.Future[None] = field(default_factory=asyncio.Future)
    is_first: bool = False  # no other writer was in the transaction before it


class WriteQueue:
    """A queue of writers, by organization."""

    def __init__(self) -> None:
        self._waiting: FairQueue[Turn] = FairQueue()
        self._changed = asyncio.Event()
        self._closed = False

    def put(self, turn: Turn) -> None:
        """Queue a writer of the current request's organization."""
        self._waiting.put(OWNER.get(), turn)
        self._changed.set()

    async def wait(self) -> bool:
        """Wait for a writer; return False once closed, after the last writer."""
        while not self._waiting and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        return bool(self._waiting)

    def take(self, limit: int = _LARGEST_GROUP) -> list[Turn]:
        """Return the next group of writers."""
        group: list[Turn] = []
        taken: Counter[str] = Counter()
        while len(group) < limit:
            found = self._waiting.take(lambda owner: taken[owner] < _MAX_OF_ONE)
            if found is None:
                break
            owner, turn = found
            group.append(turn)
            taken[owner] += owner != PLATFORM
        return group

    def close(self) -> None:
        """Close the queue, so that `wait` returns at once."""
        self._closed = True
        self._changed.set()
