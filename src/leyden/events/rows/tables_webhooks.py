"""Tables of nodes' webhooks in the last release, which runs beside this one.

Its rows are moved to those of `tables_subscriptions`; these go with the next release.
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
from leyden.events.rules.deliveries import DeliveryState, Pause
from leyden.events.rules.webhooks import WebhookType

# SQLite numbers rows by itself only where the type is its own word for integer.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")

receivers = Table(
    "webhook_receiver",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    # The previous secret, with which requests are also signed until then.
    Column("sealed_old_secret", LargeBinary, info=SEALED),
    Column("old_secret_until", BigInteger),
    Column("failing_since", BigInteger),  # NULL: the last attempt succeeded
    Column("pause", Text),  # NULL: events are sent
    one_of("pause", Pause),
    CheckConstraint(
        "(sealed_old_secret IS NULL) = (old_secret_until IS NULL)",
        name="old_secret_ends",
    ),
)

events = Table(
    "webhook_event",
    metadata,
    Column(
        "position", _NUMBER, primary_key=True
    ),  # in the order in which events happened
    Column("id", Text, nullable=False, unique=True),  # the receiver's `webhook-id`
    Column("node_id", ForeignKey("node.id"), nullable=False),
    Column("type", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("told_once", Text),  # the key under which a node sends it only once
    Column("test", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("overtakable", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    one_of("type", WebhookType),
    one_of("state", DeliveryState),
    Index("ix_webhook_event_node_id", "node_id", "position"),
)
_told_once = events.c.told_once.is_not(None)
Index(
    "uq_webhook_event_told_once",
    events.c.node_id,
    events.c.told_once,
    unique=True,
    sqlite_where=_told_once,
    postgresql_where=_told_once,
)
_pending = events.c.state == "pending"
Index(
    "ix_webhook_event_pending",
    events.c.node_id,
    events.c.position,
    sqlite_where=_pending,
    postgresql_where=_pending,
)
# A newer status supersedes a pending one, so there are never two.
_pending_status = and_(_pending, events.c.type == "status")
Index(
    "ix_webhook_event_one_status",
    events.c.node_id,
    unique=True,
    sqlite_where=_pending_status,
    postgresql_where=_pending_status,
)

attempts = Table(
    "webhook_attempt",
    metadata,
    Column("event_id", ForeignKey(events.c.id, ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("took", BigInteger, nullable=False),  # microseconds
    Column("status", Integer),  # NULL: no response
    Column("excerpt", Text, nullable=False),
    Column("error", Text, nullable=False),
    PrimaryKeyConstraint("event_id", "number"),
    CheckConstraint("(status IS NULL) = (error <> '')", name="answer_or_error"),
    sqlite_with_rowid=False,  # one tree less to write for each attempt
)
