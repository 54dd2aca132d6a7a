import asyncio
import time
from contextlib import suppress

import psycopg
import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.database.postgres import PostgresDatabase
from leyden.base.database.statements import Statement
from leyden.base.rules.accounts import Organization, new_id
from leyden.errors import NotFound, Stale, Taken
from tests.conftest import NOW
from tests.metrics import Observed


def an_organization(name: str) -> Organization:
    return Organization(id=new_id(), name=name, created=NOW)


async def test_what_was_committed_is_there(db: Database) -> None:
    harbour = an_organization("Harbour Light")
    async with db.transaction() as tx:
        await tx.accounts.add(harbour)
    assert await db.reader.accounts.get(harbour.id) == harbour


async def test_commits_are_timed(db: Database) -> None:
    observed = Observed.since_now("leyden_commit_duration_seconds")
    async with db.transaction() as tx:
        await tx.accounts.add(an_organization("Harbour Light"))
    number, seconds = observed.new()
    assert number == 1
    assert 0 < seconds < 10


async def test_nothing_of_a_failed_block_is_there(db: Database) -> None:
    harbour = an_organization("Harbour Light")
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            await tx.accounts.add(harbour)
            raise Stale
    with pytest.raises(NotFound):
        await db.reader.accounts.get(harbour.id)


async def test_a_failed_block_takes_nobody_down_with_it(db: Database) -> None:
    """Blocks that wait for one another are committed together on SQLite."""

    async def add(number: int) -> None:
        async with db.transaction() as tx:
            await tx.accounts.add(an_organization(f"Pier {number}"))
            if number % 3 == 0:
                raise Stale

    outcomes = await asyncio.gather(
        *(add(number) for number in range(60)), return_exceptions=True
    )
    assert sum(isinstance(outcome, Stale) for outcome in outcomes) == 20
    names = {each.name for each in await db.reader.accounts.list_()}
    assert names == {f"Pier {number}" for number in range(60) if number % 3}


async def test_a_cancelled_block_leaves_nothing_and_holds_up_nobody(
    db: Database,
) -> None:
    entered = asyncio.Event()

    async def hold() -> None:
        async with db.transaction() as tx:
            await tx.accounts.add(an_organization("Never"))
            entered.set()
            await asyncio.Event().wait()

    holding = asyncio.create_task(hold())
    await entered.wait()
    waiting = asyncio.create_task(_add(db, "Cancelled while waiting"))
    await asyncio.sleep(0)
    waiting.cancel()
    holding.cancel()
    await asyncio.gather(holding, waiting, return_exceptions=True)
    await _add(db, "Afterwards")
    names = {each.name for each in await db.reader.accounts.list_()}
    assert "Afterwards" in names
    assert "Never" not in names


async def test_two_of_one_name_are_refused(db: Database) -> None:
    await _add(db, "Harbour Light")
    with pytest.raises(Taken):
        await _add(db, "Harbour Light")


async def _add(db: Database, name: str) -> None:
    async with db.transaction() as tx:
        await tx.accounts.add(an_organization(name))


async def test_a_transaction_inside_a_transaction_is_a_bug_not_a_deadlock(
    sqlite_db: Database,
) -> None:
    with pytest.raises(RuntimeError, match="inside a transaction"):
        async with sqlite_db.transaction(), sqlite_db.transaction():
            pass


@pytest.mark.parametrize("steps", range(24))
async def test_a_cancellation_that_comes_with_a_connection_is_heeded(
    postgres_url: str, steps: int
) -> None:
    """Python 3.11 forgets it in `wait_for`; a worker would then never end."""
    db = await PostgresDatabase.open(postgres_url)
    go = asyncio.Event()
    holding = 0

    async def hold() -> None:  # as readers do, who take no turns
        nonlocal holding
        async with db._pool.connection():
            holding += 1
            await go.wait()

    async def ask() -> None:
        async with db.transaction() as tx:
            await tx.accounts.list_()

    holders = [asyncio.create_task(hold()) for _ in range(16)]
    async with asyncio.timeout(20):
        while holding < len(holders):
            await asyncio.sleep(0.005)
    asking = asyncio.create_task(ask())
    await asyncio.sleep(0.02)  # there is no connection left: it waits
    go.set()
    for _ in range(steps):
        await asyncio.sleep(0)
        time.sleep(0.001)  # noqa: ASYNC251  what the server says is there at each step
    was_cancelled = asking.cancel()
    await asyncio.wait([asking], timeout=5)
    assert asking.cancelled() == was_cancelled
    await asyncio.gather(*holders)
    await db.close()


async def test_whoever_sleeps_inside_a_transaction_keeps_no_locks(
    postgres_url: str,
) -> None:
    """The server ends the transaction of a process that is frozen in it."""
    db = await open_database(postgres_url)
    rows = await db.reader.accounts._run(
        Statement("SELECT current_setting('idle_in_transaction_session_timeout')")
    )
    await db.close()
    assert rows == [("10s",)]


async def test_a_block_that_keeps_an_error_back_is_not_told_it_was_committed(
    postgres_url: str,
) -> None:
    """The server answers COMMIT by undoing all of it, which is no error of its own."""
    db = await open_database(postgres_url)
    with pytest.raises(RuntimeError, match="was swallowed"):
        async with db.transaction() as tx:
            with suppress(psycopg.Error):
                await tx.run(Statement("SELECT 1 / 0"))
    async with db.transaction() as tx:
        assert await tx.run(Statement("SELECT 1")) == [(1,)]
    await db.close()
