"""Subscriptions: webhook endpoints of organizations, and what they were sent."""

import sqlalchemy as sa
from alembic import op

revision = "0021_subscriptions"
down_revision = "0020_backup_results"


def upgrade() -> None:
    op.create_table(
        "subscription",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("types", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("sealed_secret", sa.LargeBinary(), nullable=False),
        sa.Column("sealed_old_secret", sa.LargeBinary()),
        sa.Column("old_secret_until", sa.BigInteger()),
        sa.Column("failing_since", sa.BigInteger()),
        sa.Column("pause", sa.Text()),
        sa.Column("stopped", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "pause IN ('failing', 'gone')",
            name=op.f("ck_subscription_pause_is_known"),
        ),
        sa.CheckConstraint(
            "(sealed_old_secret IS NULL) = (old_secret_until IS NULL)",
            name=op.f("ck_subscription_old_secret_ends"),
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_subscription_organization_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subscription")),
    )
    op.create_index(
        "ix_subscription_organization_id", "subscription", ["organization_id"]
    )
    op.create_table(
        "subscription_delivery",
        sa.Column(
            "position",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            nullable=False,
        ),
        sa.Column("subscription_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "state IN ('pending', 'delivered', 'superseded', 'failed')",
            name=op.f("ck_subscription_delivery_state_is_known"),
        ),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["subscription.id"],
            name=op.f("fk_subscription_delivery_subscription_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_subscription_delivery")),
        sa.UniqueConstraint(
            "subscription_id",
            "event_id",
            name=op.f("uq_subscription_delivery_subscription_id"),
        ),
    )
    op.create_table(
        "subscription_attempt",
        sa.Column(
            "delivery",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            nullable=False,
        ),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("took", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("excerpt", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "(status IS NULL) = (error <> '')",
            name=op.f("ck_subscription_attempt_answer_or_error"),
        ),
        sa.ForeignKeyConstraint(
            ["delivery"],
            ["subscription_delivery.position"],
            name=op.f("fk_subscription_attempt_delivery"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "delivery", "number", name=op.f("pk_subscription_attempt")
        ),
        sqlite_with_rowid=False,
    )
