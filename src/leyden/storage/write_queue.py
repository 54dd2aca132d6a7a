"""Writers that wait for the one file, in turns of the organizations they write for.

Of one organization few are in a group that is committed at once: whoever comes
meanwhile waits for those, and not for fifty. The platform's own writers are not
counted: they are as many as a group may have.
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
    """Who writes next."""

    def __init__(self) -> None:
        self._waiting: Rotation[Turn] = Rotation()
        self._changed = asyncio.Event()
        self._closed = False

    def put(self, turn: Turn) -> None:
        """Queue a writer, for whoever makes the request."""
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
        """Let nobody wait any more for others to come."""
        self._closed = True
        self._changed.set()
