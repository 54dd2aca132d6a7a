"""Run statements on one connection to SQLite."""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence

from leyden.base.database.statements import BatchStep, OnlyReads, Row, Statement, Value
from leyden.errors import DatabaseAway, Violated

# The primary result codes of temporary problems, including a full disk.
_AWAY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
}

# Rows to write before other tasks run: these take half a millisecond.
_AT_A_TIME = 64


class ReadingStatements(OnlyReads):
    """Runs queries on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Run the statement on the event loop: switching to a thread costs more."""
        try:
            return self._connection.execute(
                statement.sqlite, statement.for_sqlite(values)
            ).fetchall()
        except sqlite3.Error as error:
            raise translated(error) from error


class WritingStatements(ReadingStatements):
    """Runs statements inside a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.woken: set[str] = set()

    async def many(
        self, statement: Statement, values: Sequence[Mapping[str, Value]]
    ) -> int:
        """Run the statement for each set of values; return the number of changed rows.

        This also runs on the event loop, in batches. A thread would need Python's lock
        after every row, and wait for it whenever the loop is busy.
        """
        touched = 0
        for begun in range(0, len(values), _AT_A_TIME):
            if begun:
                await asyncio.sleep(0)
            some = values[begun : begun + _AT_A_TIME]
            try:
                cursor = self._connection.executemany(statement.sqlite, some)
            except sqlite3.Error as error:
                raise translated(error) from error
            touched += cursor.rowcount
        return touched

    async def batch(self, steps: Sequence[BatchStep]) -> None:
        """Run the steps in order."""
        for step in steps:
            if not step.wakes:
                await self.many(step.statement, step.values)
                continue
            for values in step.values:
                if await self(step.statement, **values):
                    self.wake(step.wakes)

    def wake(self, kind: str) -> None:
        """Record a kind of task to wake workers for after the commit."""
        self.woken.add(kind)


def translated(error: sqlite3.Error) -> Exception:
    """Convert the error to Violated or DatabaseAway; return others unchanged."""
    if isinstance(error, sqlite3.IntegrityError):
        return Violated(str(error))
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _AWAY:
        return DatabaseAway(retry_after_s=5)
    return error


class SqliteReads(ReadingStatements):
    """Runs queries on one connection, in shared transactions.

    Reads until the event loop polls again share a transaction, so that what a request
    reads is of one moment. It begins by reading the file's `data_version` (3 µs), which
    changes with every commit by another connection, of this process or any other.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._version = -1
        self._edition = 0
        self._begun = False
        self._ending: asyncio.Handle | None = None

    async def edition(self) -> int:
        """Return a number that changes with every commit by any process."""
        if not self._begun:
            self._begin()
        return self._edition

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Return the current rows."""
        if not self._begun:
            self._begin()
        return await super().__call__(statement, **values)

    def end(self) -> None:
        """End the transaction, after a commit: later reads must see that."""
        self._begun = False
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        if self._ending is not None:
            self._ending.cancel()
        self._connection.close()

    def _begin(self) -> None:
        """Begin a transaction, and count the edition up if anything was committed.

        It ends when the event loop polls again: any request that runs until then
        arrived before it began.
        """
        try:
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN")
            ((version,),) = self._connection.execute("PRAGMA data_version")
        except sqlite3.Error as error:
            raise translated(error) from error
        if version != self._version:
            self._version = version
            self._edition += 1
        self._begun = True
        self._ending = asyncio.get_running_loop().call_soon(self.end)
