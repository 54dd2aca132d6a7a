"""PostgreSQL, for more than one machine.

READ COMMITTED with row locks and conditional updates; no reliance on SERIALIZABLE.
A wake-up crosses machines as a NOTIFY inside the transaction that made work due.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import AsyncConnection, errors
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from leyden import logs
from leyden.errors import DatabaseAway, Stale, Violated
from leyden.storage.columns import Columns
from leyden.storage.nouns import Nouns
from leyden.storage.statements import Row, Statement, Value, Wake

_POOL_SIZE = 16
_WAIT_FOR_CONNECTION_S = 4.0
_CHANNEL = "leyden_due"
_NOTIFY = "SELECT pg_notify(%s, %s)"
_RECONNECT_S = 1.0
# Each of them turned off loses commits, or pages, at a power cut.
_LASTING = """
SELECT name FROM pg_settings WHERE setting = 'off' AND name IN
('fsync', 'synchronous_commit', 'full_page_writes') ORDER BY name"""

log = logs.get()


@contextlib.contextmanager
def _translating() -> Iterator[None]:
    """Say a foreign error in our own words, once; let no cancellation be lost.

    In Python 3.11 the pool's `wait_for` forgets a cancellation that comes together
    with a connection, and whoever was to be ended would go on for ever.
    """
    task = asyncio.current_task()
    cancelled_before = task.cancelling() if task else 0
    try:
        yield
    except (errors.SerializationFailure, errors.DeadlockDetected) as error:
        raise Stale from error
    except errors.IntegrityError as error:
        raise Violated(str(error)) from error
    except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout) as error:
        raise DatabaseAway(retry_after_s=5) from error
    if task and task.cancelling() > cancelled_before:
        raise asyncio.CancelledError


class _Statements:
    """Runs statements on one connection."""

    def __init__(self, connection: AsyncConnection[Any], columns: Columns) -> None:
        self._connection = connection
        self._columns = columns
        self.woken: set[str] = set()

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        with _translating():
            cursor = await self._connection.execute(
                statement.postgresql, statement.given(values)
            )
            return await cursor.fetchall() if cursor.description else []

    async def many(
        self, statement: Statement, values: Sequence[Mapping[str, Value]]
    ) -> int:
        if not values:
            return 0
        with _translating():
            sql, columns = self._columns(statement, values)
            return (await self._connection.execute(sql, columns)).rowcount

    def wake(self, kind: str) -> None:
        self.woken.add(kind)


class _Reading:
    """Runs each statement on whichever connection is free."""

    def __init__(
        self,
        pool: AsyncConnectionPool[AsyncConnection[Any]],
        columns: Columns,
    ) -> None:
        self._pool = pool
        self._columns = columns

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        with _translating():
            async with self._pool.connection() as connection:
                run = _Statements(connection, self._columns)
                return await run(statement, **values)

    async def many(
        self,
        statement: Statement,  # noqa: ARG002  the protocol's
        values: Sequence[Mapping[str, Value]],  # noqa: ARG002  the protocol's
    ) -> int:
        raise RuntimeError("the reader only reads")

    def wake(self, kind: str) -> None:  # noqa: ARG002  the protocol's
        raise RuntimeError("the reader only reads")


class PostgresDatabase:
    """A pool of connections, and one more that listens."""

    is_alone = False

    def __init__(
        self, url: str, pool: AsyncConnectionPool[AsyncConnection[Any]]
    ) -> None:
        self._url = url
        self._pool = pool
        self._columns = Columns()
        self.reader = Nouns(_Reading(pool, self._columns))
        self._listeners: list[Wake] = []
        self._ear = asyncio.create_task(self._hear(), name="postgres listener")

    @classmethod
    async def open(cls, url: str) -> "PostgresDatabase":
        """Connect; a database that is away is waited for at each use, not here."""
        pool = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=_POOL_SIZE,
            timeout=_WAIT_FOR_CONNECTION_S,
            kwargs={"autocommit": True, "connect_timeout": 4},
            check=AsyncConnectionPool.check_connection,
            open=False,
        )
        await pool.open()
        return cls(url, pool)

    def listen(self, wake: Wake) -> None:
        """Call `wake` after each commit, here or on another machine, that says so."""
        self._listeners.append(wake)

    def edition(self) -> None:
        """Give none: asking would be one more question to another machine."""
        return

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Nouns]:
        """Run the block in one transaction; conflicts show as Stale."""
        with _translating():
            async with (
                self._pool.connection() as connection,
                connection.transaction(),
            ):
                run = _Statements(connection, self._columns)
                yield Nouns(run)
                if run.woken:
                    kinds = "\n".join(sorted(run.woken))
                    await connection.execute(_NOTIFY, (_CHANNEL, kinds))

    async def _hear(self) -> None:
        while True:
            try:
                async with await AsyncConnection.connect(
                    self._url, autocommit=True
                ) as connection:
                    await connection.execute(f"LISTEN {_CHANNEL}")
                    self._wake(None)  # what came while nobody listened
                    async for heard in connection.notifies():
                        self._wake(heard.payload.split("\n"))
            except psycopg.Error as error:
                log.warning("the database does not answer the listener", error=error)
            await asyncio.sleep(_RECONNECT_S)

    def _wake(self, kinds: Collection[str] | None) -> None:
        for wake in self._listeners:
            wake(kinds)

    async def doubts(self) -> list[str]:
        """Say why a commit that was acknowledged could be lost."""
        with _translating():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(_LASTING)
                rows = await cursor.fetchall()
        return [f"PostgreSQL's {name} is off" for (name,) in rows]

    async def close(self) -> None:
        """Finish what is under way and disconnect."""
        self._ear.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._ear
        await self._pool.close()
