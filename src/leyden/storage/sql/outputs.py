"""What is asked of the database about outputs on the chain."""

from sqlalchemy import BigInteger, bindparam, insert, literal_column, select, update

from leyden.storage.sql.words import is_among
from leyden.storage.tables_money import outputs

_this = (
    outputs.c.txid == bindparam("of_txid"),
    outputs.c.vout == bindparam("of_vout"),
)
ADD = insert(outputs)
OF_ORDERS = select(outputs).where(is_among(outputs.c.order_id, "order_ids"))
SAVE = (
    update(outputs)
    .where(*_this, outputs.c.state == bindparam("was"))
    .values(
        state=bindparam("state"),
        bookings=bindparam("bookings"),
        to_order=bindparam("to_order"),
    )
)
OF_ORDER = (
    select(outputs)
    .where(outputs.c.order_id == bindparam("order_id"))
    .order_by(outputs.c.seen, outputs.c.txid, outputs.c.vout)
)
WATCHED = (
    select(outputs.c.order_id)
    .where(
        # Spelled out, so that the index on just these rows is used.
        outputs.c.state.in_([literal_column("'seen'"), literal_column("'booked'")]),
        outputs.c.order_id > bindparam("after"),
    )
    .distinct()
    .order_by(outputs.c.order_id)
    .limit(bindparam("most", type_=BigInteger))
)
