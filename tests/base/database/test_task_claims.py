"""A claim takes no more than was asked for, however PostgreSQL plans it."""

from collections.abc import AsyncIterator
from datetime import timedelta

import psycopg
import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.rules.times import utc_now
from leyden.nodes.rows.homes import Process

CROWD = 40
PROCESS = Process(
    id="worker", session="s", host="harbour", pid=7, beat=0, until=utc_now()
)


@pytest.fixture
async def nested(postgres_url: str) -> AsyncIterator[Database]:
    """A database whose planner joins row by row, as it may with small tables."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for join in ("hashjoin", "mergejoin", "hashagg", "sort", "material"):
            name = connection.info.dbname
            connection.execute(
                f'ALTER DATABASE "{name}" SET enable_{join} = off'.encode()
            )
    database = await open_database(postgres_url)
    yield database
    await database.close()


@pytest.mark.parametrize(
    "how", [{}, {"holder": PROCESS.id}, {"holder": PROCESS.id, "watch": "watcher"}]
)
async def test_a_claim_takes_no_more_than_was_asked_for(
    nested: Database, how: dict[str, str]
) -> None:
    now = utc_now()
    until = now + timedelta(seconds=30)
    async with nested.transaction() as tx:
        await tx.homes.enter(PROCESS, delete_before=now)
        await tx.tasks.put_many("lamp", [f"{n:02}" for n in range(CROWD)], due=now)
        await tx.tasks.put("watcher", "all", due=now)
        await tx.tasks.claim(
            "watcher", now=now, until=until, limit=1, holder=PROCESS.id
        )
    async with nested.transaction() as tx:
        claimed = await tx.tasks.claim("lamp", now=now, until=until, limit=8, **how)
    assert len(claimed) == 8
