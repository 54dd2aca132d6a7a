"""The way to what we remember: transactions for changing it, a reader for looking.

    async with database.transaction() as tx:
        node = await tx.nodes.get(node_id)

Either everything in the block is durable when it ends, or nothing of it happened.
No network is touched inside a block: on SQLite all writers queue behind it.
"""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from leyden.errors import SetupError
from leyden.storage.nouns import Nouns
from leyden.storage.statements import Wake


class Database(Protocol):
    """One of the two databases, opened."""

    is_alone: bool
    """Whether this process is the only one that serves from it."""

    @property
    def reader(self) -> Nouns:
        """Look without a transaction; each statement sees the latest commit."""
        ...

    def edition(self) -> int | None:
        """Give a number that changes with every commit, by whomever.

        None where that costs as much as reading. What is read after asking for it is
        of this edition or newer.
        """
        ...

    def transaction(self) -> AbstractAsyncContextManager[Nouns]:
        """Change things: all of the block or nothing of it."""
        ...

    def listen(self, wake: Wake) -> None:
        """Call `wake` whenever a commit may have made tasks due, here or elsewhere."""
        ...

    async def doubts(self) -> list[str]:
        """Say why a commit that was acknowledged could be lost; there is no reason."""
        ...

    async def close(self) -> None:
        """Finish what is committed and let go."""
        ...


async def open_database(url: str) -> Database:
    """Open `sqlite:///path` or `postgresql://...`; the schema must be there already."""
    if url.startswith("sqlite:///"):
        from leyden.storage.sqlite import SqliteDatabase  # noqa: PLC0415  on first use

        return SqliteDatabase(Path(url.removeprefix("sqlite:///")))
    if url.startswith(("postgresql://", "postgres://")):
        from leyden.storage.postgres import (  # noqa: PLC0415  on first use
            PostgresDatabase,
        )

        return await PostgresDatabase.open(url)
    raise SetupError(
        "database_url: must start with sqlite:/// or postgresql://; "
        "for example sqlite:////var/lib/leyden/leyden.db"
    )
