"""Tables of endpoints: subscriptions, nodes' webhooks, and what is sent to them."""

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
    UniqueConstraint,
)

from leyden.base.database.tables import SEALED, metadata, one_of
from leyden.events.rules.chat import Format
from leyden.events.rules.deliveries import DeliveryState, Pause

# SQLite numbers rows by itself only where the type is its own word for integer.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")

subscriptions = Table(
    "subscription",
    metadata,
    Column("id", Text, primary_key=True),  # of a node's webhook: the node's
    # Not a foreign key, because the installation has no row of its own. It is empty for
    # a node's webhook: only the node says whose it is.
    Column("organization_id", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("types", Text, nullable=False),  # ",order.*,node.running,": `*` is all
    Column("created", BigInteger, nullable=False),
    # NULL for a node's webhook: it is in the node's launch spec.
    Column("sealed_secret", LargeBinary, info=SEALED),
    # The previous secret, with which requests are also signed until then.
    Column("sealed_old_secret", LargeBinary, info=SEALED),
    Column("old_secret_until", BigInteger),
    Column("failing_since", BigInteger),  # NULL: the last attempt succeeded
    Column("pause", Text),  # NULL: events are sent
    Column("stopped", Integer, nullable=False),  # by its owner
    # The number of the last event that was delivered, or has failed.
    Column("position", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),  # to deliver the next event
    Column("due", BigInteger, nullable=False),  # of the next attempt
    Column("format", Text, nullable=False, server_default="standard"),
    # Of a chat, whose URL is secret; `url` has the part that can be shown.
    Column("sealed_url", LargeBinary, info=SEALED),
    one_of("pause", Pause),
    one_of("format", Format),
    CheckConstraint(
        "(sealed_old_secret IS NULL) = (old_secret_until IS NULL)",
        name="old_secret_ends",
    ),
    Index("ix_subscription_organization_id", "organization_id"),
)

deliveries = Table(
    "subscription_delivery",
    metadata,
    Column("position", _NUMBER, primary_key=True),
    Column(
        "subscription_id",
        ForeignKey(subscriptions.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column("event_id", Text, nullable=False),  # the receiver's `webhook-id`
    # In the log; 0 is a test, and -1 was queued for a node.
    Column("number", BigInteger, nullable=False),
    Column("type", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("overtakable", Integer, nullable=False, server_default="0"),
    Column("once", Text),  # the key under which a node sends it only once
    UniqueConstraint("subscription_id", "event_id"),
    one_of("state", DeliveryState),
    Index("ix_subscription_delivery_subscription_id", "subscription_id", "position"),
)
_pending = deliveries.c.state == "pending"
Index(
    "ix_subscription_delivery_pending",
    deliveries.c.subscription_id,
    deliveries.c.position,
    sqlite_where=_pending,
    postgresql_where=_pending,
)

attempts = Table(
    "subscription_attempt",
    metadata,
    Column(
        "delivery",
        ForeignKey(deliveries.c.position, ondelete="CASCADE"),
        nullable=False,
    ),
    Column("number", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("took", BigInteger, nullable=False),  # microseconds
    Column("status", Integer),  # NULL: no response
    Column("excerpt", Text, nullable=False),
    Column("error", Text, nullable=False),
    PrimaryKeyConstraint("delivery", "number"),
    CheckConstraint("(status IS NULL) = (error <> '')", name="answer_or_error"),
    sqlite_with_rowid=False,  # one tree less to write for each attempt
)
