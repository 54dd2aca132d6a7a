"""Indexes of what was found by reading all rows of tables that only grow."""

import sqlalchemy as sa
from alembic import op

revision = "0045_indexes"
down_revision = "0044_lsps1_zero_conf"

# Orders first and audit last, as running processes write them: on PostgreSQL each table
# is locked against changes from here to the end.
_INDEXES = (
    ("ix_channel_order_failed", "channel_order", ["id"], "status = 'failed'"),
    (
        "ix_channel_order_direct_created",
        "channel_order",
        ["created"],
        "node_key IS NOT NULL",
    ),
    (
        "ix_channel_order_direct_paid_at",
        "channel_order",
        ["paid_at"],
        "node_key IS NOT NULL",
    ),
    ("ix_lease_closed_early", "lease", ["order_id", "closed"], "closed_early = 1"),
    (
        "ix_subscription_delivery_subscription_id",
        "subscription_delivery",
        ["subscription_id", "position"],
        None,
    ),
    ("ix_audit_at", "audit", ["at"], None),
    ("ix_audit_node_failed", "audit", ["subject", "at"], "action = 'node failed'"),
    (
        "ix_audit_members",
        "audit",
        ["organization_id", "subject"],
        "action IN ('user created', 'member joined')",
    ),
)


def upgrade() -> None:
    for name, table, columns, where in _INDEXES:
        condition = sa.text(where) if where is not None else None
        op.create_index(
            name,
            table,
            columns,
            sqlite_where=condition,
            postgresql_where=condition,
        )
