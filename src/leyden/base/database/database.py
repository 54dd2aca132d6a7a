"""The database: transactions for writing, a reader for reading.

    async with database.transaction() as tx:
        node = await tx.nodes.get(node_id)

When the block ends, all its writes are durable, or none was made. Blocks must
not do network I/O: on SQLite all writers queue behind them.
"""

from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from leyden.base.database.statements import Wake
from leyden.base.database.stores import Stores
from leyden.base.database.urls import is_sqlite, sqlite_path
from leyden.errors import SetupError


class Database(Protocol):
    """An open database, of either kind."""

    is_alone: bool
    """Whether this process is the only server on this database."""

    look_every_s: float
    """How often to look for what others committed, beside what `listen` announces."""

    @property
    def reader(self) -> Stores:
        """Stores for reading without a transaction: each query sees the last commit."""
        ...

    async def edition(self) -> Hashable:
        """Return a value that changes with every commit of any process, for good.

        Data that is read after this call is of this edition or newer.
        """
        ...

    def transaction(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction for the block: all its writes are made, or none."""
        ...

    def snapshot(self) -> AbstractAsyncContextManager[Stores]:
        """Open stores for reading in the block: all queries see the same commit."""
        ...

    def listen(self, wake: Wake) -> None:
        """Call `wake` after each commit that queues tasks, in any process."""
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
        from leyden.base.database.sqlite import SqliteDatabase  # noqa: PLC0415  on first use

        return SqliteDatabase(sqlite_path(url))
    if url.startswith(("postgresql://", "postgres://")):
        from leyden.base.database.postgres import PostgresDatabase  # noqa: PLC0415  on first use

        return await PostgresDatabase.open(url)
    raise SetupError(
        "database_url: must start with sqlite:/// or postgresql://; "
        "for example sqlite:////var/lib/leyden/leyden.db"
    )
