"""Several processes that write to one SQLite file: who waits is next."""

import asyncio
import fcntl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.database.sqlite import SqliteDatabase
from leyden.base.database.sqlite_connections import connect
from leyden.base.database.sqlite_turns import WriteTurns, turns_path
from leyden.base.rules.accounts import Organization, new_id
from tests.conftest import NOW
from tests.metrics import Observed

_WRITERS = 16
# Without turns the other one comes at random, after some hundreds.
_FEW_COMMITS = 50


async def add(db: Database, name: str) -> None:
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id=new_id(), name=name, created=NOW))


async def until_held(file: Path) -> None:
    """Wait until somebody has the lock."""
    with file.open("w") as opened:
        async with asyncio.timeout(5):
            while True:
                try:
                    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    return
                fcntl.flock(opened, fcntl.LOCK_UN)
                await asyncio.sleep(0.001)


@contextmanager
def somebody_waits(file: Path) -> Iterator[None]:
    """Be next, as a process that waits for the database is."""
    with file.open("w") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield


@pytest.fixture
def database(sqlite_url: str) -> Path:
    return Path(sqlite_url.removeprefix("sqlite:///"))


@pytest.fixture
async def other(database: Path) -> AsyncIterator[SqliteDatabase]:
    """Open the file as another process does: with connections of its own."""
    made = SqliteDatabase(database)
    yield made
    await made.close()


async def test_nobody_begins_while_another_process_waits(
    sqlite_db: Database, database: Path
) -> None:
    with somebody_waits(turns_path(database)):
        adding = asyncio.create_task(add(sqlite_db, "harbour light"))
        await asyncio.wait([adding], timeout=0.1)
        assert not adding.done()
    async with asyncio.timeout(5):
        await adding


async def test_who_finds_the_database_locked_is_next(
    other: SqliteDatabase, database: Path
) -> None:
    writing = connect(database)
    writing.execute("BEGIN IMMEDIATE")
    adding = asyncio.create_task(add(other, "harbour light"))
    await until_held(turns_path(database))
    writing.execute("ROLLBACK")
    writing.close()
    async with asyncio.timeout(5):
        await adding
    with turns_path(database).open("w") as opened:  # which nobody has any more
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)


async def test_another_process_writes_beside_one_that_commits_back_to_back(
    sqlite_db: Database, other: SqliteDatabase
) -> None:
    async def write(number: int) -> None:
        while True:
            await add(sqlite_db, f"storm {number}")

    storm = [asyncio.create_task(write(number)) for number in range(_WRITERS)]
    for number in range(10):
        commits = Observed.since_now("leyden_commit_duration_seconds")
        await add(other, f"other {number}")
        assert commits.new()[0] <= _FEW_COMMITS
    for task in storm:
        task.cancel()
    await asyncio.gather(*storm, return_exceptions=True)


async def test_a_process_that_was_stopped_while_it_waited_holds_up_one_commit(
    database: Path,
) -> None:
    turns = WriteTurns(database, patience_s=1)
    began_s = time.monotonic()
    with somebody_waits(turns_path(database)):
        for _ in range(50):
            async with turns.taken():
                pass
    assert time.monotonic() - began_s < 25  # not fifty times as long as the first
    turns.close()


async def test_where_there_can_be_no_turns_sqlite_decides(
    sqlite_url: str, database: Path
) -> None:
    turns_path(database).mkdir()
    opened = await open_database(sqlite_url)
    await add(opened, "harbour light")
    await opened.close()
