"""Owners take turns (round robin): with what waits, and for a number of slots.

An owner is an organization, mostly. One that asks for a hundred things delays its own:
another's first is next.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, Generic, TypeVar

_T = TypeVar("_T")

# The organization whose request it is that writes.
PLATFORM: Final = ""  # payments, webhooks, and other background work
OWNER: Final[ContextVar[str]] = ContextVar("owner", default=PLATFORM)


def _anybody(_owner: str) -> bool:
    return True


class FairQueue(Generic[_T]):
    """Waiting items, grouped by owner; the owners take turns."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_T]] = {}  # whose turn is next comes first

    def __bool__(self) -> bool:
        """Return whether any item waits."""
        return bool(self._waiting)

    def count(self, owner: str) -> int:
        """Return how many of the owner's items wait."""
        return len(self._waiting.get(owner, ()))

    def put(self, owner: str, item: _T) -> None:
        """Queue an item behind those of the same owner."""
        self._waiting.setdefault(owner, deque()).append(item)

    def take(self, may: Callable[[str], bool] = _anybody) -> tuple[str, _T] | None:
        """Return the next item of an owner that `may` accepts, and the owner."""
        owner = next(filter(may, self._waiting), None)
        if owner is None:
            return None
        queue = self._waiting.pop(owner)
        item = queue.popleft()
        if queue:
            self._waiting[owner] = queue  # behind the other owners
        return owner, item


class FairSlots:
    """Slots for concurrent work, of which each owner has only some at a time."""

    def __init__(self, number: int, limit: Callable[[str], int]) -> None:
        """Grant `number` slots; `limit` says how many of them an owner may have."""
        self._free = number
        self._limit = limit
        self._taken: Counter[str] = Counter()
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    async def acquire(self, owner: str) -> None:
        """Wait for a slot; whoever stops waiting has none."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.put(owner, turn)
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was granted in the same moment
                self.release(owner)
            raise

    def release(self, owner: str) -> None:
        """Return a slot of the owner; the next in turn gets it."""
        self._free += 1
        self._taken[owner] -= 1
        if not self._taken[owner]:
            del self._taken[owner]
        self._grant()

    def _grant(self) -> None:
        while self._free and (found := self._waiting.take(self._may)) is not None:
            owner, turn = found
            if not turn.done():  # it still waits
                self._free -= 1
                self._taken[owner] += 1
                turn.set_result(None)

    def _may(self, owner: str) -> bool:
        return self._taken[owner] < self._limit(owner)
