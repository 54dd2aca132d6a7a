"""What is asked of the database about leases of channels."""

from sqlalchemy import bindparam, insert, select

from leyden.storage.sql.words import is_among
from leyden.storage.tables_money import leases

COLUMNS = (
    "order_id",
    "channel_point",
    "premium",
    "execution_fee",
    "chain_fee",
    "self_chan_balance",
)
ADD = insert(leases).values({name: bindparam(name) for name in ("at", *COLUMNS)})
OF_ORDERS = select(*(leases.c[name] for name in COLUMNS)).where(
    is_among(leases.c.order_id, "order_ids")
)
