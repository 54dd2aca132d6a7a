"""Limits on concurrent work, shared fairly among organizations.

A receiver that accepts and never answers keeps a delivery in flight for 15
s. An organization may have as many in flight as there is still room for,
and no more: one whose receivers all hang takes half of the room, two such
take a third each, and there is always some left for the next.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Concurrency:
    """A number of permits for concurrent work in one process."""

    def __init__(self, limit: int) -> None:
        self._room = limit
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def enter(self, organization_id: str) -> Iterator[bool]:
        """Hold a permit for the block; yield False past the fair share.

        Nothing is held then.
        """
        if self._under_way[organization_id] >= self._room:
            yield False
            return
        self._room -= 1
        self._under_way[organization_id] += 1
        try:
            yield True
        finally:
            self._room += 1
            self._under_way[organization_id] -= 1
            if not self._under_way[organization_id]:
                del self._under_way[organization_id]
