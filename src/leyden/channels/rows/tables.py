"""Tables for orders and money; constraints reject states that must never exist.

Shared totals (amounts received, earned) are not stored in a row, since each
payment would wait for that row. They are added up when needed.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    and_,
)

from leyden.base.database.tables import SEALED, metadata, one_of
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import FINAL, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.rules.pricing import NodeTier

# SQLite numbers rows by itself only where the type is its own word for integer.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")

_COSTS = ("premium", "execution_fee", "chain_fee", "self_chan_balance")
_PRICES = ("service_fee", "pool_fee", "self_chan_balance_fee")


def _priced() -> list[Column[int] | Column[str]]:
    return [
        Column("capacity", BigInteger, nullable=False),
        Column("self_chan_balance", BigInteger, nullable=False),
        Column("lease_duration_blocks", Integer, nullable=False),
        Column("node_tier", Text, nullable=False),
        Column("bps", Integer),  # NULL: the rate of the terms
        Column("rate_bps", Integer, nullable=False),
        Column("rate_fixed", BigInteger, nullable=False),
        *(Column(price, BigInteger, nullable=False) for price in _PRICES),
    ]


orders = Table(
    "channel_order",  # "order" is a reserved word
    metadata,
    Column("id", Text, primary_key=True),
    Column("organization_id", ForeignKey("organization.id"), nullable=False),
    Column("status", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    *_priced(),
    Column("credit_used", BigInteger, nullable=False),
    Column("charged", BigInteger, nullable=False),
    Column("credit_refund", BigInteger, nullable=False),
    Column("paid_at", BigInteger),
    Column("onchain_address", Text, unique=True),
    Column("lightning_invoice", Text),
    Column("payment_hash", Text, unique=True),
    Column("invoice_state", Text),
    Column("accepted", BigInteger, nullable=False),  # paid on Lightning, and held
    Column(
        "offered", Integer, nullable=False
    ),  # a ticket was requested from the market
    Column("ticket_ref", Text, unique=True),  # one ticket, one order
    Column("sealed_ticket", LargeBinary, info=SEALED),
    Column("order_nonce", Text, nullable=False),
    # Whether the unused part of pool_fee is ours; else it is credited.
    Column("keeps_unused_fee", Integer, nullable=False, server_default="0"),
    # Of a direct channel; NULL: the node that registers the ticket.
    Column("node_key", Text),
    Column("node_host", Text, nullable=False, server_default=""),
    Column("node_id", Text, nullable=False, server_default=""),
    Column("channel_point", Text, nullable=False, server_default=""),
    Column("announce", Integer, nullable=False, server_default="0"),
    Column("htlc_expires", Integer, nullable=False, server_default="0"),
    Column("zero_conf", Integer, nullable=False, server_default="0"),
    # The LSP that it is bought from; "": a ticket, or the operator's own seller.
    Column("source", Text, nullable=False, server_default=""),
    one_of("status", OrderStatus),
    one_of("node_tier", NodeTier),
    one_of("invoice_state", InvoiceState),
    CheckConstraint(
        "service_fee >= 0 AND pool_fee >= 0 AND self_chan_balance_fee >= 0",
        name="no_fee_is_negative",
    ),
    CheckConstraint(
        "credit_used >= 0 AND charged >= 0 AND "
        f"credit_used + charged <= {' + '.join(_PRICES)}",
        name="covered_at_most_once",
    ),
    CheckConstraint("credit_refund >= 0", name="refund_not_negative"),
    CheckConstraint(
        "onchain_address IS NULL OR payment_hash IS NOT NULL",
        name="both_rails_or_none",
    ),
    Index("ix_channel_order_organization_id", "organization_id", "created", "id"),
)
_is_unpaid = orders.c.status == str(OrderStatus.WAITING_PAYMENT)
Index(
    "ix_channel_order_unpaid",
    orders.c.organization_id,
    sqlite_where=_is_unpaid,
    postgresql_where=_is_unpaid,
)
# Orders that can still change: few, compared with the others. One index for each
# status, because neither database recognizes that `status = 'created'` is covered by a
# list of statuses.
for _status in OrderStatus:
    if _status not in FINAL:
        _stands_there = orders.c.status == str(_status)
        Index(
            f"ix_channel_order_{_status}",
            orders.c.id,
            sqlite_where=_stands_there,
            postgresql_where=_stands_there,
        )

_is_direct = orders.c.node_key.is_not(None)
Index(
    "ix_channel_order_direct",
    orders.c.node_key,
    orders.c.created,
    sqlite_where=_is_direct,
    postgresql_where=_is_direct,
)
# For what was ordered, and paid, in the last hour.
for _time in (orders.c.created, orders.c.paid_at):
    Index(
        f"ix_channel_order_direct_{_time.name}",
        _time,
        sqlite_where=_is_direct,
        postgresql_where=_is_direct,
    )
# The seller opens one channel to a peer at a time.
_is_asked = and_(_is_direct, orders.c.status == str(OrderStatus.SUBMITTED))
Index(
    "uq_channel_order_asked",
    orders.c.node_key,
    unique=True,
    sqlite_where=_is_asked,
    postgresql_where=_is_asked,
)

moves = Table(
    "order_move",
    metadata,
    Column("id", _NUMBER, primary_key=True),
    Column("order_id", ForeignKey("channel_order.id"), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Index("ix_order_move_order_id", "order_id"),
)

# The lnd that receives our payments, and another one that was found in its place.
treasuries = Table(
    "treasury",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("pubkey", Text, nullable=False),
    Column("stranger", Text, nullable=False),
    CheckConstraint("id = 1", name="only_one"),
)

# When the ledger was last compared with the treasury.
treasury_checks = Table(
    "treasury_check",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("orders", Integer, nullable=False),
    Column("unknown", Integer, nullable=False),
    Column("differences", Integer, nullable=False),
    CheckConstraint("id = 1", name="only_one"),
)

leases = Table(
    "lease",
    metadata,
    Column("order_id", ForeignKey("channel_order.id"), primary_key=True),
    Column("at", BigInteger, nullable=False),
    # Not unique: a buyer's poold may use one key for two tickets, and the provider's
    # poold reports only the first of several equal outputs in one batch.
    Column("channel_point", Text, nullable=False),
    *(Column(part, BigInteger, nullable=False) for part in _COSTS),
    Column("node", Text, nullable=False, server_default=""),
    Column("peer", Text, nullable=False, server_default=""),
    Column("height", BigInteger, nullable=False, server_default="0"),
    # Of direct channels: when it was found closed, and the last announced event.
    Column("closed", BigInteger),
    Column("closed_early", Integer, nullable=False, server_default="0"),
    Column("told", Integer, nullable=False, server_default="0"),
    Column("extended", BigInteger, nullable=False, server_default="0"),  # blocks
    # Whether it is extended by itself; and why not, as last announced.
    Column("auto_blocks", BigInteger, nullable=False, server_default="0"),
    Column("auto_most", BigInteger, nullable=False, server_default="0"),
    Column("auto_refused", Text, nullable=False, server_default=""),
    CheckConstraint(
        " AND ".join(f"{part} >= 0" for part in _COSTS), name="no_cost_is_negative"
    ),
)

# Sorted by order: SQLite would rather read all leases in order than sort a few.
_is_early = leases.c.closed_early == 1
Index(
    "ix_lease_closed_early",
    leases.c.order_id,
    leases.c.closed,
    sqlite_where=_is_early,
    postgresql_where=_is_early,
)

entries = Table(
    "entry",
    metadata,
    Column("id", _NUMBER, primary_key=True),
    Column("key", Text, nullable=False, unique=True),  # can be written only once
    Column("at", BigInteger, nullable=False),
    Column("what", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("sats", BigInteger, nullable=False),
    Column("organization_id", ForeignKey("organization.id")),
    Column("order_id", ForeignKey("channel_order.id")),
    Column("actor", Text, nullable=False),
    Column("note", Text, nullable=False),
    one_of("what", Reason),
    CheckConstraint("sats > 0", name="moves_something"),
    CheckConstraint("source <> target", name="moves_somewhere"),
    Index("ix_entry_organization_id", "organization_id", "id"),
    Index("ix_entry_order_id", "order_id"),
)

balances = Table(
    "balance",
    metadata,
    Column("place", Text, primary_key=True),
    Column("sats", BigInteger, nullable=False),
    CheckConstraint(
        "sats >= 0 OR place LIKE 'owed:%' OR place LIKE 'receivable:%'",
        name="credit_is_never_negative",
    ),
)

quotes = Table(
    "quote",
    metadata,
    Column("organization_id", ForeignKey("organization.id"), nullable=False),
    Column("wish", Text, nullable=False),  # the channel, in one line
    Column("quoted", BigInteger, nullable=False),
    Column("rate_bps", Integer, nullable=False),
    Column("rate_fixed", BigInteger, nullable=False),
    *(Column(price, BigInteger, nullable=False) for price in _PRICES),
    Column("keeps_unused_fee", Integer, nullable=False, server_default="0"),
    Column("source", Text, nullable=False, server_default=""),
    PrimaryKeyConstraint("organization_id", "wish"),
    Index("ix_quote_quoted", "quoted"),
)

outputs = Table(
    "chain_output",
    metadata,
    Column("txid", Text, nullable=False),
    Column("vout", Integer, nullable=False),
    Column("order_id", ForeignKey("channel_order.id"), nullable=False),
    Column("sats", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("seen", BigInteger, nullable=False),
    Column("bookings", Integer, nullable=False),  # how often it was booked
    Column("to_order", BigInteger, nullable=False),  # of the last booking
    PrimaryKeyConstraint("txid", "vout"),
    one_of("state", ("seen", "booked", "buried", "gone")),
    CheckConstraint("to_order >= 0 AND to_order <= sats", name="part_of_the_whole"),
    Index("ix_chain_output_order_id", "order_id"),
)
# Outputs that may still change: few, compared with those that are buried.
_is_watched = outputs.c.state.in_(["seen", "booked"])
Index(
    "ix_chain_output_watched",
    outputs.c.order_id,
    sqlite_where=_is_watched,
    postgresql_where=_is_watched,
)

# Triggers ensure that entries are only added; the migration creates them.
