"""Attempts to sign in past a limit are refused, and leave nothing behind."""

from datetime import datetime, timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.database.statements import Statement
from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Person, new_id
from leyden.base.settings import Settings
from leyden.base.tasks.work import Work
from leyden.errors import TooMany
from leyden.people import attempts, sign_in
from tests.conftest import NOW

HOUR = timedelta(hours=1)


@pytest.fixture
def platform(db: Database, sealer: Sealer) -> Platform:
    return Platform(
        settings=Settings(sign_in_failures=3),
        database=db,
        sealer=sealer,
        clock=lambda: NOW,
    )


async def counters(platform: Platform) -> int:
    async with platform.database.transaction() as tx:
        rows = await tx.run(Statement("SELECT count(*) FROM sign_in_failure"))
    return int(rows[0][0])


async def is_counted(platform: Platform, number: int, *, now: datetime = NOW) -> bool:
    """Attempt to sign in as somebody new, from one address."""
    try:
        await attempts.count(
            platform, f"ghost{number}@example.org", "192.0.2.7", now=now
        )
    except TooMany:
        return False
    return True


async def test_attempt_leaves_no_counters_when_its_address_is_over_the_limit(
    platform: Platform,
) -> None:
    assert [await is_counted(platform, n) for n in range(10)] == [True] * 9 + [False]
    before = await counters(platform)
    assert not any([await is_counted(platform, n) for n in range(10, 50)])
    assert await counters(platform) == before


async def test_attempt_is_counted_again_when_its_address_has_waited(
    platform: Platform,
) -> None:
    for number in range(40):
        await is_counted(platform, number)
    assert not await is_counted(platform, 40, now=NOW + timedelta(minutes=14))
    assert await is_counted(platform, 40, now=NOW + timedelta(minutes=16))


async def test_sign_in_deletes_nobodys_counters(platform: Platform) -> None:
    for number in range(9):
        await is_counted(platform, number)
    before = await counters(platform)
    person = Person(id=new_id(), email="alice@example.org", created=NOW)
    async with platform.database.transaction() as tx:
        await tx.accounts.add_person(person, password=None)
        await _begin(platform, tx, person, now=NOW + 3 * HOUR)
    assert await counters(platform) == before


async def test_counters_are_pruned_a_few_at_a_time_when_they_are_old(
    platform: Platform,
) -> None:
    async with platform.database.transaction() as tx:
        for number in range(1_100):
            await tx.sessions.count_failure(b"%d" % number, now=NOW, within=HOUR)
    await prune(platform, at=NOW + timedelta(minutes=59))
    assert await counters(platform) == 1_100
    later = NOW + HOUR + timedelta(seconds=1)
    async with platform.database.transaction() as tx:
        await tx.sessions.count_failure(b"new", now=later, within=HOUR)
    left = []
    for again in (later, later, later + HOUR):
        assert await prune(platform, at=later) == again
        left.append(await counters(platform))
    assert left == [601, 101, 1]


async def test_expired_sessions_are_pruned(platform: Platform) -> None:
    person = Person(id=new_id(), email="alice@example.org", created=NOW)
    async with platform.database.transaction() as tx:
        await tx.accounts.add_person(person, password=None)
        await _begin(platform, tx, person, now=NOW)
        await _begin(platform, tx, person, now=NOW + timedelta(days=1))
        await tx.second_factors.use_challenge(b"challenge", until=NOW)
    await prune(platform, at=NOW + timedelta(days=14, hours=1))
    sessions = await platform.database.reader.sessions.list_(person.id)
    assert [each.created for each in sessions] == [NOW + timedelta(days=1)]
    async with platform.database.transaction() as tx:
        assert await tx.second_factors.use_challenge(b"challenge", until=NOW)


async def _begin(
    platform: Platform, tx: Stores, person: Person, *, now: datetime
) -> None:
    await sign_in.begin(
        platform,
        tx,
        person,
        is_complete=True,
        address="192.0.2.9",
        browser="test",
        now=now,
    )


async def prune(platform: Platform, *, at: datetime) -> datetime | None:
    """Prune once, as the queue does; return when it is due again."""
    tasks = platform.database.reader.tasks
    async with platform.database.transaction() as tx:
        await tx.tasks.put(sign_in.FORGETTING, "all", due=at)
        (claim,) = await tx.tasks.claim(
            sign_in.FORGETTING, now=at, until=at + timedelta(minutes=1), limit=1
        )
    await sign_in.prune(Work(platform.database, claim), clock=lambda: at)
    return await tasks.next_due(sign_in.FORGETTING, now=at)
