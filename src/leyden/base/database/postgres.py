"""PostgreSQL, for more than one machine.

READ COMMITTED with row locks and conditional updates; no reliance on
SERIALIZABLE. Wake-ups reach other machines by a NOTIFY in the transaction
that queued the task.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Mapping,
    Sequence,
)
from datetime import datetime
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from leyden.base.database.commits import COMMIT
from leyden.base.database.postgres_connections import (
    CONNECTING,
    PostgresConnections,
    WriteSlots,
)
from leyden.base.database.postgres_errors import translating
from leyden.base.database.postgres_reads import PIPELINES, PostgresReads
from leyden.base.database.statements import BatchStep, Row, Statement, Value, Wake
from leyden.base.database.stores import Stores
from leyden.base.rules.times import from_us

_POOL_SIZE = 16
_WAIT_FOR_CONNECTION_S = 4.0
_CHANNEL = "leyden_due"
_NOTIFY = "SELECT pg_notify(%s, %s)"
_WAKES = """
WITH found AS ({})
SELECT pg_notify(%(channel)s, %(woken)s) FROM (SELECT 1 FROM found LIMIT 1) AS one"""
_RECONNECT_S = 1.0
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_NOW = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
# If one of these is off, a power cut can lose commits or pages.
_LASTING = """
SELECT name FROM pg_settings WHERE setting = 'off' AND name IN
('fsync', 'synchronous_commit', 'full_page_writes') ORDER BY name"""

log = logging.getLogger(__name__)

T = TypeVar("T")


async def _shielded(run: Coroutine[None, None, T]) -> T:
    """Wait until the coroutine has ended, even if the caller is cancelled.

    If a connection is cancelled while it enters or leaves a pipeline, which is used to
    send many rows, it is left in an inconsistent state.
    """
    running = asyncio.ensure_future(run)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        running.exception()  # nothing else retrieves it
        raise


class _Statements:
    """Statements run on one connection."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection
        self.woken: set[str] = set()

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        with translating():
            cursor = await self._connection.execute(
                statement.postgresql, statement.for_postgresql(values)
            )
            has_rows = cursor.rownumber is not None
            return await cursor.fetchall() if has_rows else []

    async def many(
        self, statement: Statement, values: Sequence[Mapping[str, Value]]
    ) -> int:
        if not values:
            return 0
        with translating():
            return await _shielded(self._all(statement, values))

    async def _all(
        self, statement: Statement, values: Sequence[Mapping[str, Value]]
    ) -> int:
        async with self._connection.cursor() as cursor:
            await cursor.executemany(statement.postgresql, values)
            return cursor.rowcount

    async def batch(self, steps: Sequence[BatchStep]) -> None:
        with translating():
            for step in steps:
                if not step.wakes:
                    await self._all(step.statement, step.values)
                    continue
                # We don't wait for the result, so the database itself sends the notice
                # if there are rows.
                text = _WAKES.format(step.statement.postgresql)
                woken = {"channel": _CHANNEL, "woken": step.wakes}
                for values in map(step.statement.for_postgresql, step.values):
                    await self._connection.execute(text.encode(), {**values, **woken})

    def wake(self, kind: str) -> None:
        self.woken.add(kind)

    async def commit(self, stores: Stores) -> None:
        """Flush and commit in one round trip."""
        async with self._pipelined(stores):
            await stores.flush()
            if self.woken:
                kinds = "\n".join(sorted(self.woken))
                await self._connection.execute(_NOTIFY, (_CHANNEL, kinds))
            ended = await self._connection.execute("COMMIT", prepare=False)
        if ended.statusmessage != "COMMIT":
            raise RuntimeError("a statement failed, and its error was swallowed")

    def _pipelined(
        self, stores: Stores
    ) -> contextlib.AbstractAsyncContextManager[object]:
        """Return a pipeline, which is only worth its cost for several statements."""
        if self.woken or stores.has_unflushed:
            return self._connection.pipeline()
        return contextlib.nullcontext()


class PostgresDatabase:
    """A pool of connections, and one more that listens."""

    is_alone = False
    look_every_s = 5.0  # an announcement may be lost with its connection

    def __init__(
        self, url: str, pool: AsyncConnectionPool[AsyncConnection[Any]]
    ) -> None:
        self._url = url
        self._pool = pool
        self._reads = PostgresReads(pool)
        self._write_slots = WriteSlots(_POOL_SIZE - PIPELINES)
        self.reader = Stores(self._reads)
        self.edition = self._reads.edition
        self._listeners: list[Wake] = []
        self._ear = asyncio.create_task(self._hear(), name="postgres listener")

    @classmethod
    async def open(
        cls, url: str, *, clock: Callable[[], float] = time.monotonic
    ) -> "PostgresDatabase":
        """Connect without waiting; each use waits if the database is down."""
        connections = PostgresConnections(clock)
        pool = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=_POOL_SIZE,
            timeout=_WAIT_FOR_CONNECTION_S,
            kwargs=CONNECTING,
            configure=connections.configure,
            check=connections.check,
            open=False,
        )
        await pool.open()
        return cls(url, pool)

    def listen(self, wake: Wake) -> None:
        """Call `wake` after each commit that queues tasks, in any process."""
        self._listeners.append(wake)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Stores]:
        """Run the block in one transaction; raise Stale on a conflict.

        Organizations take turns: each has only a few connections at a time.
        """
        with translating():
            async with (
                self._write_slots.taken(_WAIT_FOR_CONNECTION_S) as left_s,
                self._pool.connection(timeout=left_s) as connection,
            ):
                run = _Statements(connection)
                stores = Stores(run)
                try:
                    await connection.execute("BEGIN", prepare=False)
                    yield stores
                    with COMMIT.time():
                        await _shielded(run.commit(stores))
                except BaseException:
                    with contextlib.suppress(psycopg.Error):
                        await connection.rollback()
                    raise

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Stores]:
        """Run the block's queries on the rows of one moment."""
        with translating():
            async with (
                self._write_slots.taken(_WAIT_FOR_CONNECTION_S) as left_s,
                self._pool.connection(timeout=left_s) as connection,
            ):
                try:
                    await connection.execute(_SNAPSHOT, prepare=False)
                    yield Stores(_Statements(connection))
                finally:
                    with contextlib.suppress(psycopg.Error):
                        await connection.rollback()

    async def _hear(self) -> None:
        while True:
            try:
                async with await AsyncConnection.connect(
                    self._url, **CONNECTING
                ) as connection:
                    await connection.execute(f"LISTEN {_CHANNEL}")
                    self._wake(None)  # for notices that were missed meanwhile
                    async for heard in connection.notifies():
                        self._wake(heard.payload.split("\n"))
            except psycopg.Error as error:
                log.warning(
                    "the database does not respond to the listener",
                    extra={"error": error},
                )
            await asyncio.sleep(_RECONNECT_S)

    def _wake(self, kinds: Collection[str] | None) -> None:
        for wake in self._listeners:
            wake(kinds)

    async def now(self) -> datetime:
        """Return the time by the database's clock."""
        with translating():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(_NOW)
                ((now,),) = await cursor.fetchall()
        return from_us(now)

    async def durability_risks(self) -> list[str]:
        """Return reasons why an acknowledged commit could be lost."""
        with translating():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(_LASTING)
                rows = await cursor.fetchall()
        return [f"PostgreSQL's {name} is off" for (name,) in rows]

    async def close(self) -> None:
        """Finish pending work and disconnect."""
        self._ear.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._ear
        await self._reads.close()
        await self._pool.close()
