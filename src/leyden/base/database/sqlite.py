"""SQLite, as fast as one file can be made durable.

Statements run on the event loop itself: in WAL mode a reader never waits, and a point
read (8 µs) is cheaper than switching to a thread (60 µs). Only BEGIN, which may wait
for another process, and COMMIT, which waits for the disk, run in a thread.

Writers take turns (write_queue.py). Writers that wait at the same time share one fsync:
all are committed together, and each continues only after that commit ("group commit":
tens of thousands of durable steps a second instead of hundreds). A step that fails must
not roll back others, so each has a savepoint of its own, except the first, which has
the transaction for itself until it is done. A savepoint copies each changed page, and
gets slower with the number of pages (a batch of payments), because SQLite walks through
all copies after each statement.
"""

import asyncio
import contextlib
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from types import TracebackType

from leyden.base.database.commits import COMMIT
from leyden.base.database.sqlite_connections import (
    connect,
    connect_to_write,
    durability_risks,
)
from leyden.base.database.sqlite_statements import (
    ReadingStatements,
    SqliteReads,
    WritingStatements,
    translated,
)
from leyden.base.database.sqlite_turns import WriteTurns
from leyden.base.database.statements import Wake
from leyden.base.database.stores import Stores
from leyden.base.database.write_queue import Turn, WriteQueue
from leyden.base.rules.times import utc_now
from leyden.errors import DatabaseAway

# After a commit its thread must get Python's lock (the GIL) again. With a busy event
# loop and Python's default, the thread would wait for 5 ms at each commit.
_SWITCH_INTERVAL_S = 0.0005
# A group is committed after this many changed rows: then the cost of a sync is small in
# comparison, and the next writer is the first of a new group.
_MAX_ROWS = 500
_inside: ContextVar[bool] = ContextVar("inside a transaction", default=False)


class _Transaction:
    """The context manager of a transaction; a generator would cost twice as much."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        run: WritingStatements,
        queue: WriteQueue,
        wake: Callable[[set[str]], None],
    ) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._run = run
        self._queue = queue
        self._wake = wake

    async def __aenter__(self) -> Stores:
        if _inside.get():
            raise RuntimeError("a transaction inside a transaction would wait forever")
        self._turn = turn = Turn()
        self._queue.put(turn)
        try:
            await turn.granted
            if not turn.is_first:
                self._execute("SAVEPOINT step")
        except BaseException as error:
            turn.finished.set_result(False)
            if isinstance(error, sqlite3.Error):
                raise translated(error) from error
            raise
        self._before = _inside.set(True)
        self._stores = Stores(self._run)
        return self._stores

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        landed = False
        try:
            if error is None:
                await self._land()
                landed = True
            else:
                self._roll_back()
        except sqlite3.Error as failure:
            raise translated(failure) from failure
        finally:
            _inside.reset(self._before)
            self._turn.finished.set_result(landed)
        if isinstance(error, sqlite3.Error):
            raise translated(error) from error
        if error is None:
            await self._turn.durable
            if self._run.woken:
                self._wake(self._run.woken)

    async def _land(self) -> None:
        try:
            await self._stores.flush()
            if self._connection.in_transaction and not self._turn.is_first:
                self._execute("RELEASE step")
        except BaseException:
            self._roll_back()
            raise
        if not self._connection.in_transaction:
            raise DatabaseAway(retry_after_s=5)  # rolled back: the disk is full

    def _roll_back(self) -> None:
        if not self._connection.in_transaction:
            return
        if self._turn.is_first:
            self._execute("ROLLBACK")
        else:
            self._execute("ROLLBACK TO step")
            self._execute("RELEASE step")


class SqliteDatabase:
    """One file and one server process; operators' commands may also write to it."""

    is_alone = True
    look_every_s = 1.0  # commands of other processes announce nothing

    def __init__(self, path: Path) -> None:
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._path = path
        self._reading = connect(path)
        self._reading.execute("PRAGMA query_only=ON")
        self._reads = SqliteReads(self._reading)
        self.reader = Stores(self._reads)
        self.edition = self._reads.edition
        self._writing = connect_to_write(path)
        self._write_turns = WriteTurns(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
        self._queue = WriteQueue()
        self._writer = asyncio.create_task(self._write(), name="sqlite writer")
        self._listeners: list[Wake] = []

    def listen(self, wake: Wake) -> None:
        """Call `wake` after each commit of this process that queued tasks."""
        self._listeners.append(wake)

    def transaction(self) -> "_Transaction":
        """Wait for a turn, run the block, and return once its writes are on disk."""
        run = WritingStatements(self._writing)
        return _Transaction(self._writing, run, self._queue, self._wake)

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Stores]:
        """Run the block's queries on the rows of one moment: that of the first one."""
        with contextlib.closing(connect(self._path)) as connection:
            connection.execute("PRAGMA query_only=ON")
            connection.execute("BEGIN")
            yield Stores(ReadingStatements(connection))

    def _wake(self, kinds: set[str]) -> None:
        for wake in self._listeners:
            wake(kinds)

    async def _write(self) -> None:
        """Grant turns one at a time; commit a group of waiting writers together."""
        while await self._queue.wait():
            try:
                await self._begin()
            except sqlite3.Error as error:
                for turn in self._queue.take(1):
                    _fail(turn.granted, translated(error))
                continue
            landed: list[Turn] = []
            changes = self._writing.total_changes
            for turn in self._queue.take():
                if await self._take(turn, is_first=not landed):
                    landed.append(turn)
                if self._writing.total_changes - changes > _MAX_ROWS:
                    await self._commit(landed)
                    landed, changes = [], self._writing.total_changes
            await self._commit(landed)

    async def _begin(self) -> None:
        async with self._write_turns.taken():
            await self._in_thread("BEGIN IMMEDIATE")

    async def _take(self, turn: Turn, *, is_first: bool) -> bool:
        if not self._writing.in_transaction:
            if not is_first:
                # With a full disk everything is rolled back, including earlier turns.
                _fail(turn.granted, DatabaseAway(retry_after_s=5))
                return False
            try:  # the previous turn failed, and rolled back the whole transaction
                await self._begin()
            except sqlite3.Error as error:
                _fail(turn.granted, translated(error))
                return False
        if turn.granted.cancelled():
            return False
        turn.is_first = is_first
        turn.granted.set_result(None)
        return await turn.finished

    async def _commit(self, landed: list[Turn]) -> None:
        if not self._writing.in_transaction:
            for turn in landed:
                _fail(turn.durable, DatabaseAway(retry_after_s=5))
            return
        try:
            with COMMIT.time():
                await self._in_thread("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                await self._in_thread("ROLLBACK")
            for turn in landed:
                _fail(turn.durable, translated(error))
        else:
            self._reads.end()
            for turn in landed:
                if not turn.durable.cancelled():
                    turn.durable.set_result(None)

    async def _in_thread(self, sql: str) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._writing.execute, sql)

    async def now(self) -> datetime:
        """Return the time by the clock of this machine, which has the database."""
        return utc_now()

    async def durability_risks(self) -> list[str]:
        """Return reasons why an acknowledged commit could be lost."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, durability_risks, self._writing)

    async def close(self) -> None:
        """Commit pending work, checkpoint the WAL, and close the file."""
        self._queue.close()
        await self._writer
        self._thread.shutdown()
        self._reads.close()
        self._writing.close()
        self._write_turns.close()


def _fail(waiting: asyncio.Future[None], error: Exception) -> None:
    if not waiting.cancelled():
        waiting.set_exception(error)
