"""Many rows at once do what one by one does, on both databases."""

import asyncio
import time
from datetime import timedelta

import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.rules.accounts import Organization
from leyden.base.rules.units import Sats
from leyden.channels.money.rules.coupons import Coupon
from leyden.errors import Stale
from tests.conftest import NOW

# So many that others have their turn between some of them and the next.
MANY = 300


async def test_many_rows_are_written_as_they_are_given(db: Database) -> None:
    """Nothing where there is nothing, words that mean something to the database."""
    issued = [
        Coupon(
            id=f"0a1b2c3d-0000-4000-8000-{number:012d}FC",
            sats=Sats(number + 2**40),
            organization_id=("harbour", None)[number % 2],
            created=NOW,
            expires=(None, NOW + timedelta(days=number))[number % 2],
            note=["", "100 %s {of} it", 'a "quote", \\ and NULL', "été\n"][number % 4],
        )
        for number in range(1, MANY)
    ]
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id="harbour", name="Harbour", created=NOW))
        await tx.coupons.add(issued)
        await tx.coupons.add([])
    assert await db.reader.coupons.all_(limit=MANY) == issued


async def test_tasks_put_many_times_are_there_once_and_as_early(db: Database) -> None:
    names = [f"task {number}" for number in range(MANY)]
    for minutes in (5, 3, 9):
        async with db.transaction() as tx:
            await tx.tasks.put_many("a", names, due=NOW + timedelta(minutes=minutes))
    later = NOW + timedelta(hours=1)
    async with db.transaction() as tx:
        claims = await tx.tasks.claim("a", now=later, until=later, limit=MANY)
    assert {each.key for each in claims} == set(names)
    assert {each.due for each in claims} == {NOW + timedelta(minutes=3)}
    assert {each.times_queued for each in claims} == {2}
    async with db.transaction() as tx:
        await tx.tasks.end_all(claims)
    assert await db.reader.tasks.next_due("a", now=later) is None


async def test_one_of_many_that_is_not_ours_ends_none(db: Database) -> None:
    names = [f"task {number}" for number in range(MANY)]
    async with db.transaction() as tx:
        await tx.tasks.put_many("a", names, due=NOW)
        claims = await tx.tasks.claim("a", now=NOW, until=NOW, limit=MANY)
        await tx.tasks.put("a", names[7], due=NOW)
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            await tx.tasks.end_all(claims)
    async with db.transaction() as tx:
        again = await tx.tasks.claim("a", now=NOW, until=NOW, limit=MANY)
    assert {each.key for each in again} == set(names)


async def test_who_is_cancelled_while_many_rows_are_written_writes_none(
    db: Database,
) -> None:
    """What is written, or on its way, is over before the transaction is undone."""
    for steps in range(12):
        inside = asyncio.Event()
        writing = asyncio.create_task(_put(db, "never", 20 * MANY, inside))
        await inside.wait()
        for _ in range(steps):
            await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await _put(db, f"kind {steps}", MANY, inside)
        assert await db.reader.tasks.next_due("never", now=NOW) is None
        assert await db.reader.tasks.next_due(f"kind {steps}", now=NOW) == NOW


async def test_who_is_cancelled_on_the_way_into_a_pipeline_is_out_of_it_again(
    postgres_url: str,
) -> None:
    """psycopg forgets to leave it where the cancellation meets it in a pause."""
    db = await open_database(postgres_url)

    async def put() -> None:
        async with db.transaction() as tx:
            time.sleep(0.1)  # noqa: ASYNC251  it makes a pause where the loop was busy
            asyncio.get_running_loop().call_soon(writing.cancel)
            await tx.tasks.put_many("never", ["one", "two"], due=NOW)

    writing = asyncio.create_task(put())
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await db.reader.tasks.next_due("never", now=NOW) is None
    await db.close()


async def _put(db: Database, kind: str, count: int, inside: asyncio.Event) -> None:
    async with db.transaction() as tx:
        inside.set()
        await tx.tasks.put_many(kind, [str(n) for n in range(count)], due=NOW)
