"""Many rows at once do what one by one does, on both databases."""

from datetime import timedelta

from leyden.domain.accounts import Organization
from leyden.domain.coupons import Coupon
from leyden.domain.units import Sats
from leyden.storage.database import Database
from tests.conftest import NOW


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
        for number in range(1, 9)
    ]
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id="harbour", name="Harbour", created=NOW))
        await tx.coupons.add(issued)
        await tx.coupons.add([])
    assert await db.reader.coupons.all_() == issued


async def test_tasks_put_many_times_are_there_once_and_as_early(db: Database) -> None:
    names = [f"task {number}" for number in range(40)]
    for minutes in (5, 3, 9):
        async with db.transaction() as tx:
            await tx.tasks.put_many("a", names, due=NOW + timedelta(minutes=minutes))
    later = NOW + timedelta(hours=1)
    async with db.transaction() as tx:
        claims = await tx.tasks.claim("a", now=later, until=later, most=99)
    assert {each.key for each in claims} == set(names)
    assert {each.due for each in claims} == {NOW + timedelta(minutes=3)}
    assert {each.asked for each in claims} == {2}
    async with db.transaction() as tx:
        await tx.tasks.end_all(claims)
    assert await db.reader.tasks.next_due("a", now=later) is None
