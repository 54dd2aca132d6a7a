"""Tables for direct channels: coins, openings, LSPS1, extensions, just-in-time."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from leyden.base.database.tables import metadata, one_of
from leyden.channels.direct.rules.extensions import ExtensionStatus
from leyden.channels.direct.rules.fundings import FundingState, Obstacle
from leyden.channels.direct.rules.jit import JitStatus
from leyden.channels.direct.rules.lsps1 import Transport
from leyden.channels.direct.rules.purchases import LspPurchaseStatus

# Coins of the seller's wallet, each reserved for one order.
reserved_coins = Table(
    "reserved_coin",
    metadata,
    Column("txid", Text, nullable=False),
    Column("vout", Integer, nullable=False),
    Column("order_id", ForeignKey("channel_order.id"), nullable=False),
    Column("sats", BigInteger, nullable=False),
    PrimaryKeyConstraint("txid", "vout"),
    Index("ix_reserved_coin_order_id", "order_id"),
)

# The lnd that opens our direct channels; its row is locked while coins are reserved.
sellers = Table(
    "seller",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("pubkey", Text, nullable=False),
    Column("uri", Text, nullable=False),  # where buyers connect to
    CheckConstraint("id = 1", name="only_one"),
)

# The fields of LSPS1 orders that other orders do not have, and their origin.
lsps1_orders = Table(
    "lsps1_order",
    metadata,
    Column("order_id", ForeignKey("channel_order.id"), primary_key=True),
    Column("source", Text, nullable=False),
    Column("address", Text, nullable=False),  # of an HTTP client; "" over BOLT8
    Column("confirmations", BigInteger, nullable=False),
    Column("within_blocks", BigInteger, nullable=False),
    Column("token", Text),  # unchanged: NULL and "" are different
    one_of("source", Transport),
)

# Transactions of direct channels, from when they are published until they are buried.
fundings = Table(
    "funding",
    metadata,
    Column("order_id", ForeignKey("channel_order.id"), primary_key=True),
    Column(
        "coins", Text, nullable=False
    ),  # the coins it spends: "txid:output txid:output"
    Column("since", BigInteger, nullable=False),  # the block
    Column("state", Text, nullable=False),
    Column("obstacle", Text, nullable=False),
    one_of("state", FundingState),
    one_of("obstacle", Obstacle),
)
_is_watched = fundings.c.state.in_(("unconfirmed", "confirmed"))
Index(
    "ix_funding_watched",
    fundings.c.order_id,
    sqlite_where=_is_watched,
    postgresql_where=_is_watched,
)

funding_bumps = Table(
    "funding_bump",
    metadata,
    Column("order_id", ForeignKey("funding.order_id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("height", BigInteger, nullable=False),
    Column("sat_per_vb", Integer, nullable=False),
    Column("fee", BigInteger, nullable=False),  # of the child
    Column(
        "answer", Text, nullable=False
    ),  # the response of the seller's lnd; "" is unknown
    PrimaryKeyConstraint("order_id", "number"),
)

# More blocks for the leases of channels; the lease has their sum.
extensions = Table(
    "lease_extension",
    metadata,
    Column("id", Text, primary_key=True),
    Column("order_id", ForeignKey("channel_order.id"), nullable=False),
    Column("status", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("blocks", BigInteger, nullable=False),
    Column("ends", BigInteger, nullable=False),  # the block at which the lease ends
    Column("premium", BigInteger, nullable=False),
    Column("service_fee", BigInteger, nullable=False),
    Column("credit_used", BigInteger, nullable=False),
    Column("charged", BigInteger, nullable=False),
    Column("lightning_invoice", Text, nullable=False),
    Column("payment_hash", Text, unique=True),
    Column("peer", Text, nullable=False),  # that ordered it over LSPS7
    Column("scid", Text, nullable=False),  # of the channel, in that order
    Column("token", Text, nullable=False),
    one_of("status", ExtensionStatus),
    Index("ix_lease_extension_order_id", "order_id"),
    Index("ix_lease_extension_peer", "peer", "status"),
)

# Channels that are opened once somebody pays the wallet, from the purse's lnd.
jit_orders = Table(
    "jit_order",
    metadata,
    Column("id", Text, primary_key=True),  # its channel id, 16100001x2x3
    Column("purse", Text, nullable=False),  # the public key of the lnd
    Column("peer", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("valid_until", BigInteger, nullable=False),
    Column("size_msat", BigInteger, nullable=False),
    Column("fee_msat", BigInteger, nullable=False),
    Column("capacity", BigInteger, nullable=False),
    Column("payment_hash", Text, nullable=False),
    Column("held_at", BigInteger, nullable=False),
    Column("held_height", BigInteger, nullable=False),
    Column("coins", Text, nullable=False),  # reserved: "txid:output=sats ..."
    Column("channel_point", Text, nullable=False),
    Column("resumed_at", BigInteger, nullable=False),
    Column("funding_fee", BigInteger),  # sat; NULL: no channel, or unknown yet
    Column("earned_msat", BigInteger, nullable=False),
    Column("trusts", Integer, nullable=False, server_default="0"),
    Column("funding_transaction", Text, nullable=False, server_default=""),
    one_of("status", JitStatus),
    Index("ix_jit_order_status", "status", "id"),
    Index("ix_jit_order_peer", "peer", "status"),
)

# Parts of payments that may have been forwarded. A row is written before lnd is told,
# and is why the same HTLC gets the same answer for ever.
jit_parts = Table(
    "jit_part",
    metadata,
    Column("order_id", ForeignKey("jit_order.id"), nullable=False),
    Column("chan_id", Text, nullable=False),
    Column("htlc_id", Text, nullable=False),
    Column("payment_hash", Text, nullable=False),
    Column("amount_msat", BigInteger, nullable=False),
    Column("take_msat", BigInteger, nullable=False),
    Column("earned_msat", BigInteger),  # by lnd's history; NULL: not claimed
    PrimaryKeyConstraint("order_id", "chan_id", "htlc_id"),
)

# The invoices of orders that are paid by a wrapped invoice.
jit_wrapped = Table(
    "jit_wrapped",
    metadata,
    Column("order_id", ForeignKey("jit_order.id"), primary_key=True),
    Column("payment_hash", Text, nullable=False),  # of both invoices
    Column("inner_request", Text, nullable=False),  # the node's own
    Column("wrapped_request", Text, nullable=False),  # the purse's; "": not created yet
    Column("delta", Integer, nullable=False),
    Column("address", Text, nullable=False),  # of the HTTP client
    Column("closed", Integer, nullable=False),
    UniqueConstraint("payment_hash"),
    Index("ix_jit_wrapped_closed", "closed", "address"),
)

# Channels that are bought from another LSP for an order of a customer.
purchases = Table(
    "purchase",
    metadata,
    Column("order_id", ForeignKey("channel_order.id"), primary_key=True),
    Column("status", Text, nullable=False),
    Column("uri", Text, nullable=False),
    Column("lsp_order", Text, nullable=False),
    Column("invoice", Text, nullable=False),
    Column("payment_hash", Text, unique=True),
    Column("price", BigInteger, nullable=False),
    Column("routing_limit", BigInteger, nullable=False),
    Column("expires", BigInteger),
    Column("payer", Text, nullable=False),
    Column("began", BigInteger),
    Column("height", BigInteger, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("routing_fee", BigInteger, nullable=False),
    Column("paid_at", BigInteger),
    Column("channel_point", Text, unique=True),
    one_of("status", LspPurchaseStatus),
    Index("ix_purchase_began", "began"),
)
