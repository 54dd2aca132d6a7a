"""Running statements on one connection to SQLite."""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence

from leyden.errors import DatabaseAway, Violated
from leyden.storage.statements import OnlyReads, Row, Statement, Step, Value

# The primary result codes that pass by themselves, or once there is room again.
_AWAY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
}

# So many rows are written before others have their turn: half a millisecond's worth.
_AT_A_TIME = 64


class ReadingStatements(OnlyReads):
    """Statements run on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Run the statement on the event loop: a hop to a thread costs more."""
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
        """Run it for each set of values; return how many rows it touched.

        On the event loop too, some at a time. A thread would ask for Python's lock
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

    async def batch(self, steps: Sequence[Step]) -> None:
        """Run one after the other."""
        for step in steps:
            if not step.wakes:
                await self.many(step.statement, step.values)
                continue
            for values in step.values:
                if await self(step.statement, **values):
                    self.wake(step.wakes)

    def wake(self, kind: str) -> None:
        """Record what to wake others for after the commit."""
        self.woken.add(kind)


def translated(error: sqlite3.Error) -> Exception:
    """Convert the error: to Violated, to Away, or leave it as it is."""
    if isinstance(error, sqlite3.IntegrityError):
        return Violated(str(error))
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _AWAY:
        return DatabaseAway(retry_after_s=5)
    return error
