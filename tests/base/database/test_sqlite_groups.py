"""Steps that share a commit on SQLite: the first has the transaction for itself."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from leyden.base.database.database import Database
from leyden.base.database.sqlite import SqliteDatabase
from leyden.base.database.sqlite_connections import connect
from leyden.base.database.sqlite_turns import turns_path
from leyden.errors import Away, DatabaseAway, Stale, Taken
from tests.base.database.test_transactions import an_organization
from tests.base.database.test_write_turns import somebody_waits
from tests.metrics import Observed


async def names(db: Database) -> set[str]:
    return {each.name for each in await db.reader.accounts.list_()}


async def add(db: Database, name: str, *, fails: Exception | None = None) -> None:
    async with db.transaction() as tx:
        await tx.accounts.add(an_organization(name))
        if fails is not None:
            raise fails


async def fail_later(db: Database, begun: asyncio.Event, go_on: asyncio.Event) -> None:
    async with db.transaction():
        begun.set()
        await go_on.wait()
        raise Stale


@pytest.mark.parametrize("failing", [{0}, {0, 1}, {1}, {2, 3}, {0, 2}, {0, 1, 2, 3}])
async def test_who_fails_takes_nobody_with_it(
    sqlite_db: Database, failing: set[int]
) -> None:
    outcomes = await asyncio.gather(
        *(
            add(sqlite_db, str(number), fails=Stale() if number in failing else None)
            for number in range(4)
        ),
        return_exceptions=True,
    )
    assert [isinstance(each, Stale) for each in outcomes] == [
        number in failing for number in range(4)
    ]
    assert await names(sqlite_db) == {str(n) for n in range(4) if n not in failing}


async def test_a_name_that_is_taken_is_refused_wherever_it_stands(
    sqlite_db: Database,
) -> None:
    await add(sqlite_db, "harbour")
    outcomes = await asyncio.gather(
        *(add(sqlite_db, name) for name in ("harbour", "pier", "pier", "mole")),
        return_exceptions=True,
    )
    assert [type(each) for each in outcomes] == [Taken, type(None), Taken, type(None)]
    assert await names(sqlite_db) == {"harbour", "pier", "mole"}


async def test_nothing_is_committed_for_one_who_fails_alone(
    sqlite_db: Database,
) -> None:
    commits = Observed.since_now("leyden_commit_duration_seconds")
    with pytest.raises(Stale):
        await add(sqlite_db, "harbour", fails=Stale())
    await add(sqlite_db, "pier")
    assert commits.new()[0] == 1


async def test_much_at_once_is_committed_before_others_write(
    sqlite_db: Database,
) -> None:
    """Else those behind would be behind a savepoint that slows them for nothing."""

    async def add_many() -> None:
        async with sqlite_db.transaction() as tx:
            for number in range(600):
                await tx.accounts.add(an_organization(f"many {number}"))

    commits = Observed.since_now("leyden_commit_duration_seconds")
    await asyncio.gather(add(sqlite_db, "pier"), add_many(), add(sqlite_db, "mole"))
    assert commits.new()[0] == 2
    assert len(await names(sqlite_db)) == 602


async def test_those_behind_one_who_fails_wait_for_another_process(
    sqlite_db: SqliteDatabase, sqlite_url: str
) -> None:
    """Its turn is not theirs: whoever waits may have the database before them."""
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    sqlite_db._writing.execute("PRAGMA busy_timeout=50")
    begun, go_on = asyncio.Event(), asyncio.Event()
    failing = asyncio.create_task(fail_later(sqlite_db, begun, go_on))
    behind = [
        asyncio.create_task(add(sqlite_db, f"harbour {number}")) for number in range(2)
    ]
    await begun.wait()
    with somebody_waits(turns_path(path)):
        go_on.set()
        with pytest.raises(Stale):
            await failing
        elsewhere = connect(path)
        elsewhere.execute("BEGIN IMMEDIATE")
    outcomes = await asyncio.gather(*behind, return_exceptions=True)
    assert [type(each) for each in outcomes] == [DatabaseAway, DatabaseAway]
    elsewhere.close()
    await add(sqlite_db, "pier")
    assert await names(sqlite_db) == {"pier"}


async def test_one_who_leaves_while_the_one_before_fails_holds_up_nobody(
    sqlite_db: Database,
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    failing = asyncio.create_task(fail_later(sqlite_db, begun, go_on))
    leaving = asyncio.create_task(add(sqlite_db, "never"))
    staying = asyncio.create_task(add(sqlite_db, "harbour"))
    await begun.wait()
    leaving.cancel()
    go_on.set()
    await asyncio.wait([failing, leaving, staying], timeout=5)
    assert isinstance(failing.exception(), Stale)
    assert leaving.cancelled()
    assert staying.exception() is None
    assert await names(sqlite_db) == {"harbour"}


@pytest.mark.parametrize("before", [0, 1])
async def test_what_sqlite_undid_by_itself_is_not_said_to_be_committed(
    sqlite_db: SqliteDatabase, before: int
) -> None:
    """As a full disk does, whatever the block makes of its errors."""

    async def lose() -> None:
        async with sqlite_db.transaction() as tx:
            await tx.accounts.add(an_organization("lost"))
            sqlite_db._writing.execute("ROLLBACK")
            with suppress(Away):
                raise DatabaseAway(retry_after_s=5)

    outcomes = await asyncio.gather(
        *(add(sqlite_db, f"before {number}") for number in range(before)),
        lose(),
        add(sqlite_db, "after"),
        return_exceptions=True,
    )
    kinds = [type(each) for each in outcomes]
    assert kinds[: before + 1] == [DatabaseAway] * (before + 1)
    # A transaction that was lost with others' work in it is over for all of its group.
    assert kinds[-1] is (DatabaseAway if before else type(None))
    assert await names(sqlite_db) == (set() if before else {"after"})
