"""Running statements on one connection to SQLite, in the program's own words."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TypeVar

from leyden.errors import DatabaseAway, Violated
from leyden.storage.sqlite_rows import Rows
from leyden.storage.statements import Row, Statement, Value

T = TypeVar("T")

# The primary result codes that pass by themselves, or once there is room again.
_AWAY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
}

# A hop to the thread and back takes as long as some fifty rows.
_WORTH_A_HOP = 64


class Statements:
    """Runs statements on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Run it once, here on the event loop: a hop to a thread costs more."""
        return self._once(statement, values)

    def _once(self, statement: Statement, values: Mapping[str, Value]) -> list[Row]:
        try:
            return self._connection.execute(
                statement.sqlite, statement.given(values)
            ).fetchall()
        except sqlite3.Error as error:
            raise translated(error) from error

    async def many(
        self,
        statement: Statement,  # noqa: ARG002  the protocol's
        values: Sequence[Mapping[str, Value]],  # noqa: ARG002  the protocol's
    ) -> int:
        """Refuse: who only reads has nothing to write."""
        raise RuntimeError("the reader only reads")

    def wake(self, kind: str) -> None:  # noqa: ARG002  the protocol's
        """Refuse: who only reads makes nothing due."""
        raise RuntimeError("the reader only reads")


class WritingStatements(Statements):
    """Runs statements inside a transaction; what is long, beside the event loop."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        rows: Rows,
        thread: Executor,
    ) -> None:
        super().__init__(connection)
        self._rows = rows
        self._thread = thread
        self.woken: set[str] = set()

    async def many(
        self, statement: Statement, values: Sequence[Mapping[str, Value]]
    ) -> int:
        """Run it for each set of values; give how many rows it touched."""
        if not values:
            return 0
        if len(values) >= _WORTH_A_HOP:
            return await in_thread(self._thread, lambda: self._all(statement, values))
        return self._all(statement, values)

    def _all(self, statement: Statement, values: Sequence[Mapping[str, Value]]) -> int:
        touched = 0
        runs, left = self._rows(statement, values)
        try:
            for sql, given in runs:
                touched += self._connection.execute(sql, given).rowcount
            if left:
                rows = [statement.given(each) for each in left]
                touched += self._connection.executemany(statement.sqlite, rows).rowcount
        except sqlite3.Error as error:
            raise translated(error) from error
        return touched

    def wake(self, kind: str) -> None:
        """Remember whom to wake after the commit."""
        self.woken.add(kind)


async def in_thread(thread: Executor, run: Callable[[], T]) -> T:
    """Run it beside the event loop, and be done only when it is: cancelled or not."""
    running = asyncio.get_running_loop().run_in_executor(thread, run)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        running.exception()  # nobody else asks for it
        raise


def translated(error: sqlite3.Error) -> Exception:
    """Give the error as ours: violated, away for now, or itself."""
    if isinstance(error, sqlite3.IntegrityError):
        return Violated(str(error))
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _AWAY:
        return DatabaseAway(retry_after_s=5)
    return error
