"""A queue in which the owners of items take turns (round robin)."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Rotation(Generic[_T]):
    """Waiting items, grouped by owner; the owners take turns."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_T]] = {}

    def __bool__(self) -> bool:
        """Return whether any item waits."""
        return bool(self._waiting)

    def put(self, owner: str, waiting: _T) -> None:
        """Queue an item behind those of the same owner."""
        self._waiting.setdefault(owner, deque()).append(waiting)

    def take(self, may: Callable[[str], bool]) -> tuple[str, _T] | None:
        """Return the next item of an owner that `may` accepts, and the owner."""
        owner = next(filter(may, self._waiting), None)
        if owner is None:
            return None
        queue = self._waiting.pop(owner)
        first = queue.popleft()
        if queue:
            self._waiting[owner] = queue  # at the end of the round
        return owner, first
