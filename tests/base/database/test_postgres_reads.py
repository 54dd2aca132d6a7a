"""What many ask of PostgreSQL at once leaves together, and each hears of its own."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from leyden.base.database.database import Database, open_database
from tests.base.database.test_transactions import an_organization

LIGHTS = 100
_END_OTHERS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Database]:
    database = await open_database(postgres_url)
    yield database
    await database.close()


async def test_each_who_asks_at_once_gets_its_own(database: Database) -> None:
    made = [an_organization(f"Light {number}") for number in range(LIGHTS)]
    async with database.transaction() as tx:
        for each in made:
            await tx.accounts.add(each)
    accounts = database.reader.accounts
    assert await asyncio.gather(*(accounts.get(each.id) for each in made)) == made


async def test_what_is_wrong_with_one_is_no_others(database: Database) -> None:
    harbour = an_organization("Harbour Light")
    async with database.transaction() as tx:
        await tx.accounts.add(harbour)
    accounts = database.reader.accounts
    names = [harbour.id, "\x00", harbour.id]
    first, wrong, last = await asyncio.gather(
        *(accounts.get(name) for name in names), return_exceptions=True
    )
    assert first == last == harbour
    assert "NUL" in str(wrong)


async def test_who_leaves_takes_nobody_along(database: Database) -> None:
    harbour = an_organization("Harbour Light")
    async with database.transaction() as tx:
        await tx.accounts.add(harbour)
    accounts = database.reader.accounts
    leaves, stays = (asyncio.create_task(accounts.get(harbour.id)) for _ in range(2))
    await asyncio.sleep(0)  # both have asked
    leaves.cancel()
    assert await stays == harbour
    assert leaves.cancelled()


async def test_what_was_asked_is_answered_before_the_end(database: Database) -> None:
    task = asyncio.create_task(database.reader.accounts.list_())
    await asyncio.sleep(0)
    await database.close()
    assert await task == []


async def test_a_connection_that_the_server_has_ended_is_not_used(
    database: Database, postgres_url: str
) -> None:
    harbour = an_organization("Harbour Light")
    async with database.transaction() as tx:
        await tx.accounts.add(harbour)
    async with await psycopg.AsyncConnection.connect(
        postgres_url, autocommit=True
    ) as other:
        await other.execute(_END_OTHERS)
        assert await database.reader.accounts.get(harbour.id) == harbour
        await other.execute(_END_OTHERS)
    async with database.transaction() as tx:
        assert await tx.accounts.get(harbour.id) == harbour


async def commit(database: Database, name: str = "Harbour Light") -> None:
    async with database.transaction() as tx:
        await tx.accounts.add(an_organization(name))


async def test_an_edition_lasts_until_anybody_commits(
    database: Database, postgres_url: str
) -> None:
    first = await database.edition()
    await database.reader.accounts.list_()
    assert await database.edition() == first
    other = await open_database(postgres_url)
    await commit(other)
    await other.close()
    second = await database.edition()
    await commit(database, "Pier Light")
    assert len({first, second, await database.edition()}) == 3


async def test_who_asks_for_the_edition_at_once_shares_a_statement(
    database: Database,
) -> None:
    task = [asyncio.create_task(database.edition()) for _ in range(LIGHTS)]
    await asyncio.sleep(0)  # all have asked
    task[0].cancel()
    assert len(database._reads._waiting) == 1  # type: ignore[attr-defined]
    found = await asyncio.gather(*task[1:])
    assert found == [await database.edition()] * (LIGHTS - 1)


async def test_who_asks_for_the_edition_while_it_is_read_gets_a_newer_one(
    database: Database, postgres_url: str
) -> None:
    other = await open_database(postgres_url)
    before = asyncio.create_task(database.edition())
    for _ in range(2):
        await asyncio.sleep(0)  # it is on its way
    await commit(other)
    after = await asyncio.gather(before, database.edition())
    await other.close()
    assert after[1] == await database.edition()
