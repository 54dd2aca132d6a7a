"""SQLite, as fast as one file can be made durable.

Statements run on the event loop itself: in WAL mode a reader never waits, and a
point read (8 µs) is cheaper than a hop to a thread (60 µs). Only BEGIN, which may
wait for another process, COMMIT, which waits for the disk, and what writes many rows
go to a thread.

Writers take turns. Turns that wait for one another share one fsync: each has a
savepoint of its own, all are committed together, and each hears of its commit only
then ("group commit": tens of thousands of durable steps a second instead of
hundreds).
"""

import asyncio
import contextlib
import sqlite3
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType

from leyden.errors import DatabaseAway, SetupError
from leyden.storage.nouns import Nouns
from leyden.storage.sqlite_reads import Reads
from leyden.storage.sqlite_rows import Rows
from leyden.storage.sqlite_statements import WritingStatements, in_thread, translated
from leyden.storage.statements import Wake
from leyden.values import Struct, field

# Long enough for an operator's command beside the server, short enough for a caller.
_BUSY_TIMEOUT_S = 4.0
_LARGEST_GROUP = 256
# What many rows take is written beside the event loop, which holds Python's lock while
# it makes the next ones ready. Between two statements the thread needs it for a moment;
# Python would let it wait for 5 ms each time: an eighth of all that settling takes.
_HANDS_OVER_S = 0.0005
_PREPARED = 512  # statements that are kept: the program's own, some in four sizes
_LASTING: Mapping[str, set[object]] = {"synchronous": {2, 3}, "journal_mode": {"wal"}}
_inside: ContextVar[bool] = ContextVar("inside a transaction", default=False)


def connect(path: Path, *, timeout_s: float = _BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open the file the one way it is opened: WAL, FULL, foreign keys, no magic."""
    connection = sqlite3.connect(
        path,
        timeout=timeout_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_PREPARED,
    )
    try:
        connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        connection.close()
        raise SetupError(f"{path}: cannot be opened: {error}") from None
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    # What a savepoint would go back to is kept here, and not in a temporary file that
    # costs seven writes a step: nobody needs it after a crash.
    connection.execute("PRAGMA temp_store=MEMORY")
    return connection


def connect_to_write(path: Path) -> sqlite3.Connection:
    """Open it as the one who writes does.

    What a thousand payments touch at once is not written twice, and goes from the log
    to its place a quarter as often as is usual.
    """
    connection = connect(path)
    connection.execute("PRAGMA cache_size=-16000")
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    return connection


def doubts(connection: sqlite3.Connection) -> list[str]:
    """Say why a commit over this connection could be lost at a power cut."""
    found = []
    for name, lasting in _LASTING.items():
        (is_,) = connection.execute(f"PRAGMA {name}").fetchone()
        if is_ not in lasting:
            found.append(f"SQLite's {name} is {is_}")
    return found


class _Turn(Struct, eq=False):
    """One writer's place in the queue."""

    granted: asyncio.Future[None] = field(default_factory=asyncio.Future)
    finished: asyncio.Future[bool] = field(default_factory=asyncio.Future)
    durable: asyncio.Future[None] = field(default_factory=asyncio.Future)


class _Transaction:
    """A block in its turn; a class, since a generator for each costs twice as much."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        run: WritingStatements,
        turns: "asyncio.Queue[_Turn | None]",
        wake: Callable[[set[str]], None],
    ) -> None:
        self._execute = connection.execute
        self._run = run
        self._turns = turns
        self._wake = wake

    async def __aenter__(self) -> Nouns:
        if _inside.get():
            raise RuntimeError("a transaction inside a transaction would wait for ever")
        self._turn = turn = _Turn()
        self._turns.put_nowait(turn)
        try:
            await turn.granted
            self._execute("SAVEPOINT step")
        except BaseException as error:
            turn.finished.set_result(False)
            if isinstance(error, sqlite3.Error):
                raise translated(error) from error
            raise
        self._before = _inside.set(True)
        return Nouns(self._run)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        landed = False
        try:
            if error is None:
                landed = self._release()
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

    def _release(self) -> bool:
        try:
            self._execute("RELEASE step")
        except BaseException:
            self._roll_back()
            raise
        return True

    def _roll_back(self) -> None:
        self._execute("ROLLBACK TO step")
        self._execute("RELEASE step")


class SqliteDatabase:
    """One file, one writing process; operators' commands may write beside it."""

    is_alone = True

    def __init__(self, path: Path) -> None:
        sys.setswitchinterval(_HANDS_OVER_S)
        self._rows = Rows()
        self._reading = connect(path)
        self._reading.execute("PRAGMA query_only=ON")
        self._reads = Reads(self._reading)
        self.reader = Nouns(self._reads)
        self.edition = self._reads.edition
        self._writing = connect_to_write(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
        self._turns: asyncio.Queue[_Turn | None] = asyncio.Queue()
        self._writer = asyncio.create_task(self._write(), name="sqlite writer")
        self._listeners: list[Wake] = []

    def listen(self, wake: Wake) -> None:
        """Call `wake` after each commit of this process that made tasks due."""
        self._listeners.append(wake)

    def transaction(self) -> "_Transaction":
        """Wait for a turn, run the block, return once it is on disk."""
        run = WritingStatements(self._writing, self._rows, self._thread)
        return _Transaction(self._writing, run, self._turns, self._wake)

    def _wake(self, kinds: set[str]) -> None:
        for wake in self._listeners:
            wake(kinds)

    async def _write(self) -> None:
        """Give turns, one at a time, and commit those that waited together at once."""
        while turn := await self._turns.get():
            try:
                await self._in_thread("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                if not turn.granted.done():
                    turn.granted.set_exception(translated(error))
                continue
            turns = self._waiting(turn)
            await self._commit([each for each in turns if await self._take(each)])

    def _waiting(self, first: _Turn) -> list[_Turn]:
        turns = [first]
        while len(turns) < _LARGEST_GROUP and not self._turns.empty():
            if (turn := self._turns.get_nowait()) is None:
                self._turns.put_nowait(None)  # closing: after this group
                break
            turns.append(turn)
        return turns

    async def _take(self, turn: _Turn) -> bool:
        if turn.granted.cancelled():
            return False
        if not self._writing.in_transaction:
            # A full disk rolls everything back, the turns before this one included.
            turn.granted.set_exception(DatabaseAway(retry_after_s=5))
            return False
        turn.granted.set_result(None)
        return await turn.finished

    async def _commit(self, landed: list[_Turn]) -> None:
        try:
            await self._in_thread("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                await self._in_thread("ROLLBACK")
            for turn in landed:
                if not turn.durable.cancelled():
                    turn.durable.set_exception(translated(error))
        else:
            self._reads.forget()
            for turn in landed:
                if not turn.durable.cancelled():
                    turn.durable.set_result(None)

    async def _in_thread(self, sql: str) -> None:
        await in_thread(self._thread, lambda: self._writing.execute(sql))

    async def doubts(self) -> list[str]:
        """Say why a commit that was acknowledged could be lost."""
        return await in_thread(self._thread, lambda: doubts(self._writing))

    async def close(self) -> None:
        """Commit what is under way, fold the WAL in, let go of the file."""
        self._turns.put_nowait(None)
        await self._writer
        self._thread.shutdown()
        self._reads.close()
        self._writing.close()
