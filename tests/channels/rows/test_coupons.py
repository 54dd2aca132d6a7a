import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.rules.accounts import Organization
from leyden.base.rules.units import Sats
from leyden.channels.money.rules.coupons import Coupon
from tests.conftest import NOW

OPEN = Coupon(
    id="0a1b2c3d-0000-4000-8000-000000021000FC",
    sats=Sats(21_000),
    organization_id=None,
    created=NOW,
)
HARBOURS = Coupon(
    id="0a1b2c3d-0000-4000-8000-000000042000FC",
    sats=Sats(42_000),
    organization_id="harbour",
    created=NOW,
    expires=NOW + timedelta(days=1),
    note="for the storm",
)


@pytest.fixture(autouse=True)
async def issued(db: Database) -> Sequence[Coupon]:
    async with db.transaction() as tx:
        for name in ("harbour", "lighthouse"):
            await tx.accounts.add(Organization(id=name, name=name, created=NOW))
        await tx.coupons.add([OPEN, HARBOURS])
    return [OPEN, HARBOURS]


async def claim(
    db: Database, coupon: Coupon, who: str, *, after: timedelta = timedelta(0)
) -> Sats | None:
    async with db.transaction() as tx:
        return await tx.coupons.claim(coupon.id, who, now=NOW + after)


async def test_an_open_coupon_is_the_first_ones(db: Database) -> None:
    assert await claim(db, OPEN, "lighthouse") == 21_000
    assert await claim(db, OPEN, "harbour") is None
    assert await claim(db, OPEN, "lighthouse") is None


async def test_fifty_claims_at_once_open_it_once(db: Database) -> None:
    claims = await asyncio.gather(
        *(claim(db, OPEN, ("harbour", "lighthouse")[n % 2]) for n in range(50))
    )
    assert [each for each in claims if each] == [21_000]


async def test_a_coupon_with_a_name_on_it_is_nobody_elses(db: Database) -> None:
    assert await claim(db, HARBOURS, "lighthouse") is None
    assert await claim(db, HARBOURS, "harbour") == 42_000


async def test_a_coupon_that_has_lapsed_is_worth_nothing(db: Database) -> None:
    assert await claim(db, HARBOURS, "harbour", after=timedelta(days=1)) is None


async def test_the_list_shows_what_was_issued_to_them_or_claimed(db: Database) -> None:
    await claim(db, OPEN, "lighthouse")
    assert await db.reader.coupons.list_("harbour") == [HARBOURS]
    (claimed,) = await db.reader.coupons.list_("lighthouse")
    assert claimed.id == OPEN.id
    assert claimed.claimed_by == "lighthouse"
    assert claimed.claimed_at == NOW


HOUR = timedelta(hours=1)


async def guesses(db: Database, who: str, now: datetime) -> tuple[int, datetime] | None:
    return await db.reader.coupons.guesses(who, now=now, within=HOUR)


async def guess(db: Database, now: datetime) -> None:
    async with db.transaction() as tx:
        await tx.coupons.count_guess("harbour", now=now, within=HOUR)


async def test_guesses_are_counted_from_the_first_one_on(db: Database) -> None:
    for minute in range(3):
        await guess(db, NOW + timedelta(minutes=minute))
    assert await guesses(db, "harbour", NOW + HOUR) == (3, NOW)
    assert await guesses(db, "lighthouse", NOW + HOUR) is None
    later = NOW + timedelta(minutes=61)
    assert await guesses(db, "harbour", later) is None
    await guess(db, later)
    assert await guesses(db, "harbour", later) == (1, later)


async def test_guesses_told_by_a_clock_that_was_set_back_do_not_count_until_then(
    db: Database,
) -> None:
    await guess(db, NOW)
    a_little = NOW - timedelta(minutes=5)
    assert await guesses(db, "harbour", a_little) == (1, NOW)
    far = NOW - timedelta(days=3)
    assert await guesses(db, "harbour", far) is None
    await guess(db, far)
    assert await guesses(db, "harbour", far) == (1, far)
