"""Databases that went away or fail, as those who ask them see it."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from leyden.base.database.database import Database
from leyden.base.database.statements import Row, Wake
from leyden.base.database.stores import Stores
from leyden.errors import DatabaseAway


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
    look_every_s = 1.0
    reader = Stores(_Away())

    async def edition(self) -> Hashable:
        """Raise what a read raises."""
        raise DatabaseAway(retry_after_s=5)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Stores]:
        """Begin none."""
        yield self.reader

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Stores]:
        """Show none."""
        yield self.reader

    def listen(self, wake: Wake) -> None:
        """Announce nothing."""

    async def now(self) -> datetime:
        """Know of none."""
        raise DatabaseAway(retry_after_s=5)

    async def durability_risks(self) -> list[str]:
        """Know of none."""
        raise DatabaseAway(retry_after_s=5)

    async def close(self) -> None:
        """Let go of nothing."""


class FailingDatabase:
    """A database that fails to begin transactions while there is an `error`."""

    def __init__(self, database: Database) -> None:
        self.error: Exception | None = None
        self.refused = 0
        self.commits = 0
        self._database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Stores]:
        """Begin one, or fail."""
        if self.error is not None:
            self.refused += 1
            raise self.error
        async with self._database.transaction() as tx:
            yield tx
        self.commits += 1
