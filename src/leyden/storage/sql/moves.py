"""What is asked of the database about the moves of orders."""

from sqlalchemy import bindparam, insert, select

from leyden.storage.tables_money import moves

ADD = insert(moves).values(
    order_id=bindparam("order_id"),
    at=bindparam("at"),
    before=bindparam("before"),
    after=bindparam("after"),
)
OF_ORDER = (
    select(moves.c.before, moves.c.after)
    .where(moves.c.order_id == bindparam("order_id"))
    .order_by(moves.c.id)
)
TIMELINE = (
    select(moves.c.after, moves.c.at)
    .where(moves.c.order_id == bindparam("order_id"))
    .order_by(moves.c.id)
)
