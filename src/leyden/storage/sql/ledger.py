"""What is asked of the database about entries and balances."""

from sqlalchemy import BigInteger, bindparam, func, or_, select, union_all, update
from sqlalchemy.dialects.postgresql import insert

from leyden.storage.sql.words import is_among
from leyden.storage.tables_money import balances, entries

POST = insert(entries).values(
    {
        name: bindparam(name)
        for name in (
            "key",
            "at",
            "what",
            "source",
            "target",
            "sats",
            "organization_id",
            "order_id",
            "actor",
            "note",
        )
    }
)
_new = insert(balances).values(place=bindparam("place"), sats=bindparam("change"))
RAISE = _new.on_conflict_do_update(
    index_elements=["place"], set_={"sats": balances.c.sats + _new.excluded.sats}
)
# A debt is paid back at most to nothing.
REPAY = (
    update(balances)
    .where(
        balances.c.place == bindparam("at_place"),
        balances.c.sats <= -bindparam("by", type_=BigInteger),
    )
    .values(sats=balances.c.sats + bindparam("by", type_=BigInteger))
    .returning(balances.c.sats)
)
LOWER = (
    update(balances)
    .where(
        balances.c.place == bindparam("at_place"),
        or_(
            bindparam("below_zero", type_=BigInteger) == 1,
            balances.c.sats >= bindparam("by", type_=BigInteger),
        ),
    )
    .values(sats=balances.c.sats - bindparam("by", type_=BigInteger))
    .returning(balances.c.sats)
)
# Only below what is there by a bug: whoever lowers it has locked what it is held for.
RELEASE = (
    update(balances)
    .where(balances.c.place == bindparam("at_place"))
    .values(sats=balances.c.sats - bindparam("by", type_=BigInteger))
)
BALANCE = select(balances.c.sats).where(balances.c.place == bindparam("place"))

BALANCES = select(balances).where(is_among(balances.c.place, "places"))
_both_sides = union_all(
    select(entries.c.target.label("place"), entries.c.sats),
    select(entries.c.source.label("place"), (-entries.c.sats).label("sats")),
).subquery()
SUMS = select(_both_sides.c.place, func.sum(_both_sides.c.sats)).group_by(
    _both_sides.c.place
)
KEPT_BALANCES = select(balances)
OF_ORDER = (
    select(entries)
    .where(entries.c.order_id == bindparam("order_id"))
    .order_by(entries.c.id)
)
FIND = select(entries).where(entries.c.key == bindparam("key"))
PAGE = (
    select(entries)
    .where(
        entries.c.organization_id == bindparam("organization_id"),
        entries.c.id < bindparam("before"),
    )
    .order_by(entries.c.id.desc())
    .limit(bindparam("most", type_=BigInteger))
)
