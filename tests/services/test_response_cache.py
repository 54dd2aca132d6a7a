"""A response is cached until any commit."""

import asyncio

import pytest

from leyden.services.shared import response_cache
from leyden.services.shared.response_cache import ResponseCache
from leyden.storage.database import Database, open_database
from tests.storage.test_transactions import an_organization


@pytest.fixture
def cache(db: Database) -> ResponseCache:
    return ResponseCache(db)


async def commit(db: Database, name: str = "Harbour Light") -> None:
    async with db.transaction() as tx:
        await tx.accounts.add(an_organization(name))


async def found(cache: ResponseCache, asked: object) -> object:
    return (await cache.find(asked))[1]


async def test_it_is_cached_until_somebody_commits(
    cache: ResponseCache, db: Database
) -> None:
    edition, nothing = await cache.find("who")
    assert nothing is None
    cache.keep("who", "alice", size=5, edition=edition)
    assert await found(cache, "who") == "alice"
    assert await found(cache, "whose") is None
    await commit(db)
    assert await found(cache, "who") is None


async def test_what_was_begun_before_a_commit_is_not_cached_after_it(
    cache: ResponseCache, db: Database
) -> None:
    begun, _ = await cache.find("who")
    await commit(db)
    await cache.find("whose")  # another caller has seen that the edition changed
    cache.keep("who", "alice", size=5, edition=begun)
    assert await found(cache, "who") is None


async def test_nor_where_another_process_committed(
    cache: ResponseCache, database_url: str
) -> None:
    begun, _ = await cache.find("who")
    elsewhere = await open_database(database_url)
    await commit(elsewhere)
    await elsewhere.close()
    await asyncio.sleep(0)  # the loop listens: what is asked now arrived after that
    cache.keep("who", "alice", size=5, edition=begun)
    assert await found(cache, "who") is None


async def test_what_is_cached_takes_no_more_memory_than_it_may(
    cache: ResponseCache,
) -> None:
    largest = response_cache.LONGEST
    edition, _ = await cache.find("first")
    cache.keep("too long", "", size=largest + 1, edition=edition)
    assert await found(cache, "too long") is None
    fits = response_cache.MOST_BYTES // largest
    for number in range(fits + 1):
        cache.keep(number, "alice", size=largest, edition=edition)
    there = [number for number in range(fits + 1) if await found(cache, number)]
    assert there[-1] == fits
    assert len(there) < fits
