"""Channels bought from other LSPs, and from whom an order and a quote are."""

import sqlalchemy as sa
from alembic import op

revision = "0062_purchases"
down_revision = "0061_node_samples"

_STATUSES = "'wanted', 'ordered', 'paying', 'paid', 'delivered', 'unpaid', 'lost'"


def upgrade() -> None:
    for table in ("channel_order", "quote"):
        op.add_column(
            table, sa.Column("source", sa.Text(), nullable=False, server_default="")
        )
    op.create_table(
        "purchase",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("lsp_order", sa.Text(), nullable=False),
        sa.Column("invoice", sa.Text(), nullable=False),
        sa.Column("payment_hash", sa.Text()),
        sa.Column("price", sa.BigInteger(), nullable=False),
        sa.Column("routing_limit", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger()),
        sa.Column("payer", sa.Text(), nullable=False),
        sa.Column("began", sa.BigInteger()),
        sa.Column("height", sa.BigInteger(), nullable=False),
        sa.Column("asked", sa.Integer(), nullable=False),
        sa.Column("routing_fee", sa.BigInteger(), nullable=False),
        sa.Column("paid_at", sa.BigInteger()),
        sa.Column("channel_point", sa.Text()),
        sa.CheckConstraint(
            f"status IN ({_STATUSES})", name=op.f("ck_purchase_status_is_known")
        ),
        sa.ForeignKeyConstraint(
            ["order_id"], ["channel_order.id"], name=op.f("fk_purchase_order_id")
        ),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_purchase")),
        sa.UniqueConstraint("payment_hash", name=op.f("uq_purchase_payment_hash")),
        sa.UniqueConstraint("channel_point", name=op.f("uq_purchase_channel_point")),
    )
    op.create_index("ix_purchase_began", "purchase", ["began"])
