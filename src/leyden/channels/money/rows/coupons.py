"""Coupons, and the number of wrong guesses."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.base.rules.units import Sats
from leyden.channels.money.rules.coupons import Coupon

sql = SqlFile(__file__)


class Coupons:
    """The rows of coupon and coupon_guess."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, issued: Sequence[Coupon]) -> None:
        """Store new coupons."""
        await self._run.many(
            sql.add,
            [
                {
                    "id": coupon.id,
                    "sats": coupon.sats,
                    "organization_id": coupon.organization_id,
                    "created": to_us(coupon.created),
                    "expires": to_us(coupon.expires) if coupon.expires else None,
                    "note": coupon.note,
                }
                for coupon in issued
            ],
        )

    async def claim(
        self, coupon_id: str, organization_id: str, *, now: datetime
    ) -> Sats | None:
        """Claim the coupon; return its value, or None if it is not theirs to claim."""
        rows = await self._run(
            sql.claim, id=coupon_id, claimant=organization_id, now=to_us(now)
        )
        return Sats(rows[0][0]) if rows else None

    async def list_(self, organization_id: str) -> list[Coupon]:
        """Return coupons issued to or claimed by an organization, oldest first."""
        rows = await self._run(sql.list, organization_id=organization_id)
        return [coupon_of(row) for row in rows]

    async def get_many(self, coupon_ids: Sequence[str]) -> list[Coupon]:
        """Return the existing coupons among these, ordered by id."""
        rows = await self._run(sql.get_many, ids=tuple(coupon_ids))
        return [coupon_of(row) for row in rows]

    async def all_(self, *, after: str = "", limit: int = 500) -> list[Coupon]:
        """Return coupons of all organizations, ordered by id."""
        return [
            coupon_of(row) for row in await self._run(sql.all, after=after, limit=limit)
        ]

    async def count_guess(
        self, organization_id: str, *, now: datetime, within: timedelta
    ) -> None:
        """Count a wrong coupon; guesses within this time are counted together."""
        await self._run(
            sql.count_guess,
            organization_id=organization_id,
            now=to_us(now),
            **_around(now, within),
        )

    async def guesses(
        self, organization_id: str, *, now: datetime, within: timedelta
    ) -> tuple[int, datetime] | None:
        """Return the number of wrong guesses, and the time of the first one."""
        rows = await self._run(
            sql.guesses, organization_id=organization_id, **_around(now, within)
        )
        return (rows[0][0], from_us(rows[0][1])) if rows else None


def _around(now: datetime, within: timedelta) -> dict[str, int]:
    return {"start": to_us(now - within), "end": to_us(now + within)}


def coupon_of(row: Row) -> Coupon:
    """Build the coupon from a row."""
    id_, sats, organization_id, created, expires, note, claimed_by, claimed_at = row
    return Coupon(
        id=id_,
        sats=Sats(sats),
        organization_id=organization_id,
        created=from_us(created),
        expires=None if expires is None else from_us(expires),
        note=note,
        claimed_by=claimed_by,
        claimed_at=None if claimed_at is None else from_us(claimed_at),
    )
