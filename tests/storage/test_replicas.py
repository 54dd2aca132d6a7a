"""Replicas of two versions on one database: who may run, and what waits for whom."""

from datetime import timedelta

from leyden.storage.database import Database
from leyden.storage.homes import Process
from tests.conftest import NOW

LATER = NOW + timedelta(minutes=1)
OLD, NEW = "8000_old", "8001_new"


async def enters(db: Database, id_: str, newest: str) -> bool:
    async with db.transaction() as tx:
        long_ago = NOW - timedelta(hours=1)
        return await tx.replicas.enter(
            id_, newest=newest, until=LATER, delete_before=long_ago
        )


async def leaves(db: Database, id_: str) -> None:
    async with db.transaction() as tx:
        await tx.replicas.leave(id_)


async def rises(db: Database, migration: str, *, seconds: int = 0) -> bool:
    async with db.transaction() as tx:
        now = NOW + timedelta(seconds=seconds)
        return await tx.replicas.raise_floor(migration, now=now)


async def test_what_an_older_version_misreads_waits_until_none_runs(
    db: Database,
) -> None:
    assert await enters(db, "one", OLD)
    assert await enters(db, "two", NEW)
    assert not await rises(db, NEW)
    assert await enters(db, "three", OLD)  # it may still come back
    for each in ("one", "three"):
        await leaves(db, each)
    assert await rises(db, NEW)
    assert await rises(db, OLD)  # which lowers nothing
    assert await db.reader.replicas.floor() == NEW
    assert not await enters(db, "four", OLD)
    assert await enters(db, "five", NEW)


async def test_one_that_was_killed_counts_for_a_minute_and_ends_if_it_was_not(
    db: Database,
) -> None:
    assert await enters(db, "one", OLD)
    assert not await rises(db, NEW, seconds=59)
    async with db.transaction() as tx:
        assert await tx.replicas.heartbeat("one", newest=OLD, until=LATER)
    assert await rises(db, NEW, seconds=60)
    async with db.transaction() as tx:
        assert not await tx.replicas.heartbeat("one", newest=OLD, until=LATER)


async def test_a_process_that_does_not_say_its_version_is_older(db: Database) -> None:
    process = Process(id="one", session="s", host="h", pid=7, beat=0, until=LATER)
    async with db.transaction() as tx:
        await tx.homes.enter(process, watches=True, delete_before=NOW)
    assert not await rises(db, NEW)
    assert await enters(db, "one", NEW)
    assert await rises(db, NEW)
