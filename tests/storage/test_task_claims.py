"""A claim takes no more than was asked for, however PostgreSQL plans it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial

import psycopg
import pytest

from leyden.domain.times import utc_now
from leyden.storage.database import Database, open_database
from leyden.storage.homes import Hold, Home
from leyden.storage.tasks import Claim, Shards

CROWD = 40
HOLD = Hold(holder="worker", identity="harbour", place="/harbour")
SHARDS = Shards(kind="watch", number=1)


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


@pytest.mark.parametrize("how", ["claim", "claim_at_home", "claim_watched"])
async def test_a_claim_takes_no_more_than_was_asked_for(
    nested: Database, how: str
) -> None:
    now = utc_now()
    until = now + timedelta(seconds=30)
    async with nested.transaction() as tx:
        await tx.homes.add(
            Home(identity=HOLD.identity, authority="", place=HOLD.place, host="")
        )
        await tx.tasks.put_many("lamp", [f"{n:02}" for n in range(CROWD)], due=now)
        await tx.tasks.put(SHARDS.kind, "0", due=now)
        await tx.tasks.claim_at_home(SHARDS.kind, HOLD, now=now, until=until, most=1)
    async with nested.transaction() as tx:
        claims: dict[str, Callable[..., Awaitable[list[Claim]]]] = {
            "claim": tx.tasks.claim,
            "claim_at_home": partial(tx.tasks.claim_at_home, hold=HOLD),
            "claim_watched": partial(tx.tasks.claim_watched, hold=HOLD, shards=SHARDS),
        }
        claimed = await claims[how]("lamp", now=now, until=until, most=8)
    assert len(claimed) == 8
