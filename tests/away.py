"""Databases that went away or are busy, as those who ask them see it."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from datetime import datetime

from leyden.errors import DatabaseAway, Stale
from leyden.storage.database import Database
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


class BusyDatabase:
    """A database in which others move what is to be moved first, while `is_stale`."""

    is_alone = True
    look_every_s = 1.0

    def __init__(self, database: Database) -> None:
        self._database = database
        self.reader = database.reader
        self.is_stale = False

    async def edition(self) -> Hashable:
        """Return the database's own."""
        return await self._database.edition()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Stores]:
        """Begin one, unless somebody else was first."""
        if self.is_stale:
            raise Stale
        async with self._database.transaction() as tx:
            yield tx

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Stores]:
        """Show the database's own."""
        async with self._database.snapshot() as stores:
            yield stores

    def listen(self, wake: Wake) -> None:
        """Announce what the database announces."""
        self._database.listen(wake)

    async def now(self) -> datetime:
        """Return the database's own."""
        return await self._database.now()

    async def durability_risks(self) -> list[str]:
        """Return the database's own."""
        return await self._database.durability_risks()

    async def close(self) -> None:
        """Leave the database to whoever opened it."""
