"""Read from PostgreSQL: statements that wait at the same time share a pipeline.

A statement on a connection of its own takes about 250 µs of CPU time, half of that to
wait for the socket; 32 in one pipeline take 80 µs each. They are one transaction, so if
one fails, all fail. Then each is run alone, so that callers get only the errors of
their own statement.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from leyden.base.database.postgres_errors import translating
from leyden.base.database.statements import OnlyReads, Row, Statement, Value
from leyden.errors import DatabaseAway
from leyden.values import Struct

# Equal snapshots show the same rows. Snapshots never recur, except on a server that was
# restored or took over: it has another start time.
_EDITION = Statement(
    "SELECT CAST(pg_postmaster_start_time() AS text), "
    "CAST(pg_current_snapshot() AS text)",
    name="edition",
)
_AT_ONCE = 64
PIPELINES = 2  # so that a slow one does not block the other


class _Read(Struct, frozen=True, eq=False):
    """A statement, and the callers that wait for its rows."""

    statement: Statement
    values: Mapping[str, Value]
    callers: list[asyncio.Future[list[Row]]]

    def answer(self, rows: list[Row]) -> None:
        """Pass on the rows to each caller that still waits."""
        for caller in self.callers:
            if not caller.done():
                caller.set_result(rows)

    def fail(self, error: Exception) -> None:
        """Raise the error in each caller that still waits."""
        for caller in self.callers:
            if not caller.done():
                caller.set_exception(error)


class PostgresReads(OnlyReads):
    """Runs reading statements on whichever connections are free."""

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[Any]]) -> None:
        self._pool = pool
        self._waiting: list[_Read] = []
        self._edition: _Read | None = None  # a pending read of the edition
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Return the rows as of now."""
        return await self._caller_of(self._add(statement, values))

    async def edition(self) -> Row:
        """Return a row that changes with every commit; callers share one read."""
        if self._edition is None:
            self._edition = self._add(_EDITION, {})
        (edition,) = await self._caller_of(self._edition)
        return edition

    async def close(self) -> None:
        """Finish the waiting statements."""
        while self._running:
            await asyncio.wait(self._running)

    def _add(self, statement: Statement, values: Mapping[str, Value]) -> _Read:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._begin)
        read = _Read(statement, values, [])
        self._waiting.append(read)
        return read

    def _caller_of(self, read: _Read) -> asyncio.Future[list[Row]]:
        caller = asyncio.get_running_loop().create_future()
        read.callers.append(caller)
        return caller

    def _begin(self) -> None:
        while self._waiting and len(self._running) < PIPELINES:
            self._run(self._waiting[:_AT_ONCE])
            del self._waiting[:_AT_ONCE]

    def _run(self, reads: Sequence[_Read]) -> None:
        if self._edition in reads:
            self._edition = None  # a later caller needs a later read
        task = asyncio.create_task(self._answer(reads))
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._begin()

    async def _answer(self, reads: Sequence[_Read]) -> None:
        try:
            found = await self._ask(reads)
        except DatabaseAway:
            for read in reads:
                read.fail(DatabaseAway(retry_after_s=5))
        except Exception as error:  # noqa: BLE001  raised in the caller
            if len(reads) == 1:
                reads[0].fail(error)
            else:
                for read in reads:
                    self._run([read])
        else:
            for read, rows in zip(reads, found, strict=True):
                read.answer(rows)

    async def _ask(self, reads: Sequence[_Read]) -> list[list[Row]]:
        with translating():
            async with self._pool.connection() as connection:
                if len(reads) == 1:
                    cursors = [await _query(connection, reads[0])]
                else:
                    async with connection.pipeline():
                        cursors = [await _query(connection, each) for each in reads]
                return [
                    await cursor.fetchall() if cursor.rownumber is not None else []
                    for cursor in cursors
                ]


async def _query(connection: AsyncConnection[Any], read: _Read) -> Any:
    statement = read.statement
    return await connection.execute(
        statement.postgresql, statement.for_postgresql(read.values)
    )
