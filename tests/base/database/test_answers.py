"""Idempotency-Keys: taken while others write between two statements, and pruned."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.database.statements import OnlyReads, Row, Run, Statement, Value
from leyden.base.rows import answers
from leyden.base.rows.answers import SavedResponses
from leyden.base.rules.accounts import Organization
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


async def test_answers_are_pruned_a_few_at_a_time_when_they_have_expired(
    db: Database, now: datetime
) -> None:
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id=TEAM, name=TEAM, created=NOW))
        for number in range(5):
            await tx.answers.claim(
                TEAM,
                b"%d" % number,
                request=b"",
                now=now,
                expires=now + timedelta(hours=number),
                holder="",
            )
    async with db.transaction() as tx:
        later = now + timedelta(hours=2)
        deleted = [await tx.answers.prune(now=later, limit=2) for _ in range(3)]
        assert deleted == [2, 1, 0]
        assert await tx.quotas.answers(TEAM, limit=9, now=now) == 2
