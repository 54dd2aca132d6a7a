"""Idempotency-Keys in PostgreSQL, where others write between two statements."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from leyden.domain.accounts import Organization
from leyden.storage import answers
from leyden.storage.answers import SavedResponses
from leyden.storage.database import Database, open_database
from leyden.storage.statements import OnlyReads, Row, Run, Statement, Value
from tests.conftest import NOW

TEAM, KEY = "harbour", b"a key"


@pytest.fixture
async def postgres(postgres_url: str) -> AsyncIterator[Database]:
    database = await open_database(postgres_url)
    async with database.transaction() as tx:
        await tx.accounts.add(Organization(id=TEAM, name=TEAM, created=NOW))
    yield database
    await database.close()


class Interrupted(OnlyReads):
    """A transaction that another one overtakes once a key was found in use."""

    def __init__(self, run: Run, other: Database) -> None:
        self._run = run
        self._other = other
        self.overtaken = 0

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        rows = await self._run(statement, **values)
        if statement is answers.sql.claim and not rows:
            self.overtaken += 1
            async with self._other.transaction() as tx:
                await tx.answers.drop(TEAM, KEY, holder="the first")
        return rows


async def claim(
    of: SavedResponses, *, holder: str, now: datetime
) -> answers.Saved | None:
    return await of.claim(
        TEAM,
        KEY,
        request=b"",
        now=now,
        expires=now + timedelta(days=1),
        holder=holder,
    )


async def test_a_key_that_is_left_while_it_is_looked_at_is_free(
    postgres: Database, now: datetime
) -> None:
    """The first request is rejected at the moment in which the second one looks."""
    async with postgres.transaction() as tx:
        assert await claim(tx.answers, holder="the first", now=now) is None
    async with postgres.transaction() as tx:
        run = Interrupted(tx.run, postgres)
        second = SavedResponses(run)
        assert await claim(second, holder="the second", now=now) is None
    assert run.overtaken == 1
    async with postgres.transaction() as tx:
        found = await claim(tx.answers, holder="the third", now=now)
    assert found is not None
    assert found.holder == "the second"
