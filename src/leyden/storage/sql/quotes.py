"""What is asked of the database about quotes."""

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert

from leyden.storage.tables_money import quotes

PRICES = (
    "rate_bps",
    "rate_fixed",
    "service_fee",
    "pool_fee",
    "self_chan_balance_fee",
)
_new = insert(quotes).values(
    {name: bindparam(name) for name in ("organization_id", "wish", "quoted", *PRICES)}
)
KEEP = _new.on_conflict_do_update(
    index_elements=["organization_id", "wish"],
    set_={name: _new.excluded[name] for name in ("quoted", *PRICES)},
)
FIND = select(quotes.c.quoted, *(quotes.c[name] for name in PRICES)).where(
    quotes.c.organization_id == bindparam("organization_id"),
    quotes.c.wish == bindparam("wish"),
)
FORGET = delete(quotes).where(quotes.c.quoted <= bindparam("until"))
