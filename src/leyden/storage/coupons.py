"""Coupons, and how often somebody guessed."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import BigInteger, bindparam, case, insert, or_, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.domain.coupons import Coupon
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.storage.statements import Row, Run
from leyden.storage.tables_money import coupons, guesses

_ADD = insert(coupons).values(
    id=bindparam("id"),
    sats=bindparam("sats"),
    organization_id=bindparam("organization_id"),
    created=bindparam("created"),
    expires=bindparam("expires"),
    note=bindparam("note"),
    claimed_by=None,
    claimed_at=None,
)
_CLAIM = (
    update(coupons)
    .where(
        coupons.c.id == bindparam("coupon_id"),
        coupons.c.claimed_by.is_(None),
        or_(
            coupons.c.organization_id.is_(None),
            coupons.c.organization_id == bindparam("claimant"),
        ),
        or_(coupons.c.expires.is_(None), coupons.c.expires > bindparam("now")),
    )
    .values(claimed_by=bindparam("claimant"), claimed_at=bindparam("now"))
    .returning(coupons.c.sats)
)
_LIST = (
    select(coupons)
    .where(
        or_(
            coupons.c.organization_id == bindparam("organization_id"),
            coupons.c.claimed_by == bindparam("organization_id"),
        )
    )
    .order_by(coupons.c.created, coupons.c.id)
)
_ALL = (
    select(coupons)
    .where(coupons.c.id > bindparam("after"))
    .order_by(coupons.c.id)
    .limit(bindparam("most", type_=BigInteger))
)

_again = insert_once(guesses).values(
    organization_id=bindparam("organization_id"), since=bindparam("now"), count=1
)
_is_old = guesses.c.since < bindparam("start", type_=BigInteger)
_GUESSED = _again.on_conflict_do_update(
    index_elements=["organization_id"],
    set_={
        "since": case((_is_old, _again.excluded.since), else_=guesses.c.since),
        "count": case((_is_old, 1), else_=guesses.c.count + 1),
    },
)
_GUESSES = select(guesses.c.count, guesses.c.since).where(
    guesses.c.organization_id == bindparam("organization_id"),
    guesses.c.since >= bindparam("start"),
)


class Coupons:
    """The rows of coupon and coupon_guess."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, issued: Sequence[Coupon]) -> None:
        """Keep new coupons."""
        await self._run.many(
            _ADD,
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
            _CLAIM, coupon_id=coupon_id, claimant=organization_id, now=to_us(now)
        )
        return Sats(rows[0][0]) if rows else None

    async def list_(self, organization_id: str) -> list[Coupon]:
        """Give what was issued to an organization or claimed by it, oldest first."""
        rows = await self._run(_LIST, organization_id=organization_id)
        return [_coupon(row) for row in rows]

    async def all_(self, *, after: str = "", most: int = 500) -> list[Coupon]:
        """Give coupons of everybody, in the order of their ids."""
        return [_coupon(row) for row in await self._run(_ALL, after=after, most=most)]

    async def guessed(
        self, organization_id: str, *, now: datetime, start: datetime
    ) -> None:
        """Count one wrong coupon; from `start` on they belong together."""
        await self._run(
            _GUESSED,
            organization_id=organization_id,
            now=to_us(now),
            start=to_us(start),
        )

    async def guesses(
        self, organization_id: str, *, start: datetime
    ) -> tuple[int, datetime] | None:
        """Give how often they guessed wrong, and since when."""
        rows = await self._run(
            _GUESSES, organization_id=organization_id, start=to_us(start)
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
