"""The database: transactions for writing, a reader for reading.

    async with database.transaction() as tx:
        node = await tx.nodes.get(node_id)

Everything in the block is durable when it ends, or nothing of it happened.
Blocks do no network I/O: on SQLite all writers queue behind them.
"""

from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from leyden.errors import SetupError
from leyden.storage.statements import Wake
from leyden.storage.stores import Stores
from leyden.storage.urls import is_sqlite, sqlite_path


class Database(Protocol):
    """An open database, of either kind."""

    is_alone: bool
    """Whether this process is the only one that serves from it."""

    @property
    def reader(self) -> Stores:
        """Reading without a transaction; each statement sees the latest commit."""
        ...

    async def edition(self) -> Hashable:
        """Return what changes with every commit by any process, and never comes back.

        Data read after this call is of this edition or newer.
        """
        ...

    def transaction(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction for the block: all of it is written, or nothing."""
        ...

    def listen(self, wake: Wake) -> None:
        """Call `wake` after any commit, here or elsewhere, that queues tasks."""
        ...

    async def now(self) -> datetime:
        """Return the time by the database's clock."""
        ...

    async def durability_risks(self) -> list[str]:
        """Return reasons why an acknowledged commit could be lost; ideally none."""
        ...

    async def close(self) -> None:
        """Finish pending commits and disconnect."""
        ...


async def open_database(url: str) -> Database:
    """Open `sqlite:///path` or `postgresql://...`; the schema must exist."""
    if is_sqlite(url):
        from leyden.storage.sqlite import SqliteDatabase  # noqa: PLC0415  on first use

        return SqliteDatabase(sqlite_path(url))
    if url.startswith(("postgresql://", "postgres://")):
        from leyden.storage.postgres import (  # noqa: PLC0415  on first use
            PostgresDatabase,
        )

        return await PostgresDatabase.open(url)
    raise SetupError(
        "database_url: must start with sqlite:/// or postgresql://; "
        "for example sqlite:////var/lib/leyden/leyden.db"
    )
