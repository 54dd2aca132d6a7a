"""What is asked of the database about coupons."""

from sqlalchemy import BigInteger, bindparam, case, insert, or_, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables_money import coupons, guesses

ADD = insert(coupons).values(
    id=bindparam("id"),
    sats=bindparam("sats"),
    organization_id=bindparam("organization_id"),
    created=bindparam("created"),
    expires=bindparam("expires"),
    note=bindparam("note"),
    claimed_by=None,
    claimed_at=None,
)
CLAIM = (
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
LIST = (
    select(coupons)
    .where(
        or_(
            coupons.c.organization_id == bindparam("organization_id"),
            coupons.c.claimed_by == bindparam("organization_id"),
        )
    )
    .order_by(coupons.c.created, coupons.c.id)
)
ALL = (
    select(coupons)
    .where(coupons.c.id > bindparam("after"))
    .order_by(coupons.c.id)
    .limit(bindparam("most", type_=BigInteger))
)

_again = insert_once(guesses).values(
    organization_id=bindparam("organization_id"), since=bindparam("now"), count=1
)
_is_old = guesses.c.since < bindparam("start", type_=BigInteger)
GUESSED = _again.on_conflict_do_update(
    index_elements=["organization_id"],
    set_={
        "since": case((_is_old, _again.excluded.since), else_=guesses.c.since),
        "count": case((_is_old, 1), else_=guesses.c.count + 1),
    },
)
GUESSES = select(guesses.c.count, guesses.c.since).where(
    guesses.c.organization_id == bindparam("organization_id"),
    guesses.c.since >= bindparam("start"),
)
