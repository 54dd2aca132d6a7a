"""A coupon's id is all that it takes to claim it."""

import re
from datetime import UTC, datetime

from leyden.base.rules.units import Sats
from leyden.channels.money.rules.coupons import Coupon, new_coupon_id

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def test_no_two_ids_are_alike_and_none_can_be_guessed() -> None:
    ids = [new_coupon_id() for _ in range(100)]
    assert len(set(ids)) == 100
    for each in ids:
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}FC", each)
        assert each[14] == "4"  # of 122 random bits, not of the time


def test_a_coupon_is_claimed_from_the_moment_that_it_was() -> None:
    coupon = Coupon(
        id="a coupon", sats=Sats(21_000), organization_id=None, created=NOON
    )
    assert not coupon.claimed
    claimed = Coupon(
        id="a coupon",
        sats=Sats(21_000),
        organization_id=None,
        created=NOON,
        claimed_by="1",
        claimed_at=NOON,
    )
    assert claimed.claimed
