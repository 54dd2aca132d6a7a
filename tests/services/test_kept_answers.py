"""An answer is kept for as long as it would come out the same again."""

import asyncio

import pytest

from leyden.services.shared import response_cache
from leyden.services.shared.response_cache import ResponseCache
from leyden.storage.database import Database, open_database
from tests.storage.test_transactions import an_organization


@pytest.fixture
def kept(db: Database) -> ResponseCache:
    return ResponseCache(db)


async def commit(db: Database, name: str = "Harbour Light") -> None:
    async with db.transaction() as tx:
        await tx.accounts.add(an_organization(name))


async def found(kept: ResponseCache, asked: object) -> object:
    return (await kept.find(asked))[1]


async def test_it_is_kept_until_somebody_commits(
    kept: ResponseCache, db: Database
) -> None:
    edition, nothing = await kept.find("who")
    assert nothing is None
    kept.keep("who", "alice", size=5, edition=edition)
    assert await found(kept, "who") == "alice"
    assert await found(kept, "whose") is None
    await commit(db)
    assert await found(kept, "who") is None


async def test_what_was_begun_before_a_commit_is_not_kept_after_it(
    kept: ResponseCache, db: Database
) -> None:
    begun, _ = await kept.find("who")
    await commit(db)
    await kept.find("whose")  # somebody else has seen by now that it is another edition
    kept.keep("who", "alice", size=5, edition=begun)
    assert await found(kept, "who") is None


async def test_nor_where_another_process_committed(
    kept: ResponseCache, database_url: str
) -> None:
    begun, _ = await kept.find("who")
    elsewhere = await open_database(database_url)
    await commit(elsewhere)
    await elsewhere.close()
    await asyncio.sleep(0)  # the loop listens: what is asked now arrived after that
    kept.keep("who", "alice", size=5, edition=begun)
    assert await found(kept, "who") is None


async def test_what_is_kept_takes_no_more_memory_than_it_may(
    kept: ResponseCache,
) -> None:
    largest = response_cache.LONGEST
    edition, _ = await kept.find("first")
    kept.keep("too long", "", size=largest + 1, edition=edition)
    assert await found(kept, "too long") is None
    fits = response_cache.MOST_BYTES // largest
    for number in range(fits + 1):
        kept.keep(number, "alice", size=largest, edition=edition)
    there = [number for number in range(fits + 1) if await found(kept, number)]
    assert there[-1] == fits
    assert len(there) < fits
