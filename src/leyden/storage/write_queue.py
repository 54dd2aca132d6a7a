"""Writers that wait for a SQLite file, in turns of the organizations they write for.

A group that is committed together has few writers of one organization: a writer that
arrives meanwhile waits for those, and not for fifty. The platform's own writers are not
counted.
"""

import asyncio
from collections import Counter

from leyden.storage.owners import OWNER, PLATFORM
from leyden.storage.rotation import Rotation
from leyden.values import Struct, field

_LARGEST_GROUP = 256
_MOST_OF_ONE = 8


class Turn(Struct, eq=False):
    """A writer's place in the queue."""

    granted: asyncio.Future[None] = field(default_factory=asyncio.Future)
    finished: asyncio.Future[bool] = field(default_factory=asyncio.Future)
    durable: asyncio.Future[None] = field(default_factory=asyncio.Future)
    is_first: bool = False  # nobody's work is before it in the transaction


class WriteQueue:
    """A queue of writers, by organization."""

    def __init__(self) -> None:
        self._waiting: Rotation[Turn] = Rotation()
        self._changed = asyncio.Event()
        self._closed = False

    def put(self, turn: Turn) -> None:
        """Queue a writer, for the organization of the request."""
        self._waiting.put(OWNER.get(), turn)
        self._changed.set()

    async def wait(self) -> bool:
        """Wait for a writer; return False once closed, when nobody waits any more."""
        while not self._waiting and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        return bool(self._waiting)

    def take(self, most: int = _LARGEST_GROUP) -> list[Turn]:
        """Return the next group, in turns."""
        group: list[Turn] = []
        taken: Counter[str] = Counter()
        while len(group) < most:
            found = self._waiting.take(lambda owner: taken[owner] < _MOST_OF_ONE)
            if found is None:
                break
            owner, turn = found
            group.append(turn)
            taken[owner] += owner != PLATFORM
        return group

    def close(self) -> None:
        """Close the queue: `wait` returns at once from now on."""
        self._closed = True
        self._changed.set()
