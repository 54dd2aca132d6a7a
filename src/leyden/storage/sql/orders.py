"""What is asked of the database about orders."""

from sqlalchemy import (
    BigInteger,
    bindparam,
    func,
    literal_column,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.domain.orders import Status
from leyden.storage.order_rows import CHANGES
from leyden.storage.sql.words import is_among
from leyden.storage.tables_money import orders

ADD = insert_once(orders).on_conflict_do_nothing().returning(orders.c.id)
GET = select(orders).where(orders.c.id == bindparam("order_id"))
GET_MANY = select(orders).where(is_among(orders.c.id, "order_ids"))
LOCK_MANY = (
    select(orders)
    .where(is_among(orders.c.id, "order_ids"))
    # Always in the order of their ids, so that no two wait for each other.
    .order_by(orders.c.id)
    .with_for_update()
)
PAID_TO = select(orders).where(is_among(orders.c.onchain_address, "addresses"))
INVOICED = select(orders.c.payment_hash, orders.c.id, orders.c.invoice_state).where(
    is_among(orders.c.payment_hash, "hashes")
)
SAVE = (
    update(orders)
    .where(orders.c.id == bindparam("order_id"), orders.c.status == bindparam("was"))
    .values({name: bindparam(name) for name in CHANGES})
)
PAGE = (
    select(orders)
    .where(
        orders.c.organization_id == bindparam("organization_id"),
        tuple_(orders.c.created, orders.c.id)
        < tuple_(
            bindparam("created", type_=BigInteger),
            bindparam("id", type_=orders.c.id.type),
        ),
    )
    .order_by(orders.c.created.desc(), orders.c.id.desc())
    .limit(bindparam("most", type_=BigInteger))
)
# Spelled out, so that the index on just the open orders is used.
IN_STATUS = {
    status: select(orders)
    .where(
        orders.c.status == literal_column(f"'{status}'"),
        orders.c.id > bindparam("after"),
    )
    .order_by(orders.c.id)
    .limit(bindparam("most", type_=BigInteger))
    for status in Status
}
PAYABLE = {
    status: select(
        orders.c.id,
        orders.c.service_fee
        + orders.c.pool_fee
        + orders.c.self_chan_balance_fee
        - orders.c.credit_used
        - orders.c.charged,
        orders.c.onchain_address,
        orders.c.lightning_invoice,
        orders.c.payment_hash,
    )
    .where(
        orders.c.status == literal_column(f"'{status}'"),
        orders.c.id > bindparam("after"),
        orders.c.payment_hash.is_not(None),
    )
    .order_by(orders.c.id)
    .limit(bindparam("most", type_=BigInteger))
    for status in (Status.WAITING_PAYMENT, Status.CREATING)
}
TICKETED_SINCE = (
    select(orders)
    .where(
        orders.c.status == literal_column("'created'"),
        orders.c.paid_at > bindparam("since", type_=BigInteger),
    )
    .order_by(orders.c.id)
    .limit(bindparam("most", type_=BigInteger))
)
ALL = (
    select(orders)
    .where(orders.c.id > bindparam("after"))
    .order_by(orders.c.id)
    .limit(bindparam("most", type_=BigInteger))
)
MAY_TAKE = func.coalesce(
    func.sum(orders.c.pool_fee + orders.c.self_chan_balance), literal_column("0")
)
CREATED_TAKE = select(MAY_TAKE).where(orders.c.status == literal_column("'created'"))
CREATING_TAKE = select(MAY_TAKE).where(
    orders.c.status == literal_column("'creating'"),
    tuple_(orders.c.paid_at, orders.c.id)
    < tuple_(
        bindparam("paid_at", type_=BigInteger),
        bindparam("id", type_=orders.c.id.type),
    ),
)
