"""Quotas: exceptions for organizations, and places of pending orders."""

import sqlalchemy as sa
from alembic import op

revision = "0008_quotas"
down_revision = "0007_treasury"


def upgrade() -> None:
    op.create_table(
        "organization_quota",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("most", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "most >= 0", name=op.f("ck_organization_quota_most_not_negative")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_organization_quota_organization_id"),
        ),
        sa.PrimaryKeyConstraint(
            "organization_id", "name", name=op.f("pk_organization_quota")
        ),
    )
    op.create_table(
        "order_place",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_order_place_organization_id"),
        ),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_order_place")),
    )
    op.create_index(
        "ix_order_place_organization_id", "order_place", ["organization_id"]
    )
    waits = sa.text("status = 'waiting_payment'")
    op.create_index(
        "ix_channel_order_unpaid",
        "channel_order",
        ["organization_id"],
        sqlite_where=waits,
        postgresql_where=waits,
    )
