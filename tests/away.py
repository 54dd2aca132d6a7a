"""A database that went away, as those who ask it see it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leyden.errors import DatabaseAway
from leyden.storage.statements import Row, Wake
from leyden.storage.stores import Stores


class _Away:
    async def __call__(self, *_: object, **__: object) -> list[Row]:
        raise DatabaseAway(retry_after_s=5)

    async def many(self, *_: object) -> int:
        raise DatabaseAway(retry_after_s=5)

    async def batch(self, *_: object) -> None:
        raise DatabaseAway(retry_after_s=5)

    def wake(self, kind: str) -> None:
        """Wake nobody."""


class AwayDatabase:
    """Answers nothing."""

    is_alone = True
    reader = Stores(_Away())

    def edition(self) -> None:
        """Know of none."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Stores]:
        """Begin none."""
        yield self.reader

    def listen(self, wake: Wake) -> None:
        """Announce nothing."""

    async def durability_risks(self) -> list[str]:
        """Know of none."""
        raise DatabaseAway(retry_after_s=5)

    async def close(self) -> None:
        """Let go of nothing."""
