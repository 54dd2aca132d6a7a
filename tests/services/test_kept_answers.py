"""An answer is kept for as long as it would come out the same again."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from leyden.services.shared import response_cache
from leyden.services.shared.response_cache import ResponseCache
from leyden.storage.database import Database
from tests.storage.test_transactions import an_organization


@pytest.fixture
def kept(sqlite_db: Database) -> ResponseCache:
    return ResponseCache(sqlite_db)


async def commit(db: Database, name: str = "Harbour Light") -> None:
    async with db.transaction() as tx:
        await tx.accounts.add(an_organization(name))


async def test_it_is_kept_until_somebody_commits(
    kept: ResponseCache, sqlite_db: Database
) -> None:
    assert kept.find("who") is None
    kept.keep("who", "alice", size=5, edition=sqlite_db.edition())
    assert kept.find("who") == "alice"
    assert kept.find("whose") is None
    await commit(sqlite_db)
    assert kept.find("who") is None


async def test_what_was_begun_before_a_commit_is_not_kept_after_it(
    kept: ResponseCache, sqlite_db: Database
) -> None:
    kept.find("who")
    begun = sqlite_db.edition()
    await commit(sqlite_db)
    kept.find("whose")  # somebody else has seen by now that it is another edition
    kept.keep("who", "alice", size=5, edition=begun)
    assert kept.find("who") is None


async def test_nor_where_another_process_committed(
    kept: ResponseCache, sqlite_db: Database, sqlite_url: str
) -> None:
    kept.find("who")
    begun = sqlite_db.edition()
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(path, isolation_level=None)) as elsewhere:
        elsewhere.execute("INSERT INTO operator (user_id, created) VALUES ('', 1)")
    await asyncio.sleep(0)  # the loop listens: what is asked now arrived after that
    kept.keep("who", "alice", size=5, edition=begun)
    assert kept.find("who") is None


async def test_what_is_kept_takes_no_more_memory_than_it_may(
    kept: ResponseCache, sqlite_db: Database
) -> None:
    largest = response_cache.LONGEST
    edition = sqlite_db.edition()
    kept.find("first")
    kept.keep("too long", "", size=largest + 1, edition=edition)
    assert kept.find("too long") is None
    fits = response_cache.MOST_BYTES // largest
    for number in range(fits + 1):
        kept.keep(number, "alice", size=largest, edition=edition)
    there = [number for number in range(fits + 1) if kept.find(number)]
    assert there[-1] == fits
    assert len(there) < fits


async def test_where_asking_costs_as_much_as_reading_nothing_is_kept(
    db: Database,
) -> None:
    kept = ResponseCache(db)
    kept.find("who")
    kept.keep("who", "alice", size=5, edition=db.edition())
    assert kept.find("who") == ("alice" if db.edition() is not None else None)
