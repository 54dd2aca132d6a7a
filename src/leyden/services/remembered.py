"""What was worked out before, kept under all that it was made of.

Nothing here is ever wrong, because nothing is found unless it would come out the same
again; there is nothing to invalidate. What is kept is lost with the process.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")

_MOST = 10_000


class Remembered(Generic[Value]):
    """The latest so many; the oldest makes room."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: dict[Hashable, Value] = {}
        self.find = self._kept.get

    def keep(self, made_of: Hashable, value: Value) -> Value:
        """Keep the value, and give it back."""
        if len(self._kept) >= self._most and made_of not in self._kept:
            del self._kept[next(iter(self._kept))]
        self._kept[made_of] = value
        return value
