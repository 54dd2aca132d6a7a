"""Coupons, and how often somebody guessed."""

from collections.abc import Sequence
from datetime import datetime

from leyden.domain.coupons import Coupon
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.storage.statements import Row, Run
from leyden.storage.written import coupons as sql


class Coupons:
    """The rows of coupon and coupon_guess."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, issued: Sequence[Coupon]) -> None:
        """Keep new coupons."""
        await self._run.many(
            sql.ADD,
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
        """Open the coupon for good and give its worth; None when it is not theirs."""
        rows = await self._run(
            sql.CLAIM, coupon_id=coupon_id, claimant=organization_id, now=to_us(now)
        )
        return Sats(rows[0][0]) if rows else None

    async def list_(self, organization_id: str) -> list[Coupon]:
        """Give what was issued to an organization or claimed by it, oldest first."""
        rows = await self._run(sql.LIST, organization_id=organization_id)
        return [_coupon(row) for row in rows]

    async def all_(self, *, after: str = "", most: int = 500) -> list[Coupon]:
        """Give coupons of everybody, in the order of their ids."""
        return [
            _coupon(row) for row in await self._run(sql.ALL, after=after, most=most)
        ]

    async def guessed(
        self, organization_id: str, *, now: datetime, start: datetime
    ) -> None:
        """Count one wrong coupon; from `start` on they belong together."""
        await self._run(
            sql.GUESSED,
            organization_id=organization_id,
            now=to_us(now),
            start=to_us(start),
        )

    async def guesses(
        self, organization_id: str, *, start: datetime
    ) -> tuple[int, datetime] | None:
        """Give how often they guessed wrong, and since when."""
        rows = await self._run(
            sql.GUESSES, organization_id=organization_id, start=to_us(start)
        )
        return (rows[0][0], from_us(rows[0][1])) if rows else None


def _coupon(row: Row) -> Coupon:
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
