"""Just-in-time orders, and the parts of payments that were forwarded for them."""

import sqlalchemy as sa
from alembic import op

revision = "0055_jit_orders"
down_revision = "0051_operator_keys"

_STATUSES = (
    "'sold', 'holding', 'opening', 'opened', 'resuming', 'earned', 'unpaid', 'expired'"
)


def upgrade() -> None:
    op.create_table(
        "jit_order",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("purse", sa.Text(), nullable=False),
        sa.Column("peer", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("valid_until", sa.BigInteger(), nullable=False),
        sa.Column("size_msat", sa.BigInteger(), nullable=False),
        sa.Column("fee_msat", sa.BigInteger(), nullable=False),
        sa.Column("capacity", sa.BigInteger(), nullable=False),
        sa.Column("payment_hash", sa.Text(), nullable=False),
        sa.Column("held_at", sa.BigInteger(), nullable=False),
        sa.Column("held_height", sa.BigInteger(), nullable=False),
        sa.Column("coins", sa.Text(), nullable=False),
        sa.Column("channel_point", sa.Text(), nullable=False),
        sa.Column("resumed_at", sa.BigInteger(), nullable=False),
        sa.Column("funding_fee", sa.BigInteger()),
        sa.Column("earned_msat", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            f"status IN ({_STATUSES})", name=op.f("ck_jit_order_status_is_known")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jit_order")),
    )
    op.create_index("ix_jit_order_status", "jit_order", ["status", "id"])
    op.create_index("ix_jit_order_peer", "jit_order", ["peer", "status"])
    op.create_table(
        "jit_part",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("chan_id", sa.Text(), nullable=False),
        sa.Column("htlc_id", sa.Text(), nullable=False),
        sa.Column("payment_hash", sa.Text(), nullable=False),
        sa.Column("amount_msat", sa.BigInteger(), nullable=False),
        sa.Column("take_msat", sa.BigInteger(), nullable=False),
        sa.Column("earned_msat", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["order_id"], ["jit_order.id"], name=op.f("fk_jit_part_order_id")
        ),
        sa.PrimaryKeyConstraint(
            "order_id", "chan_id", "htlc_id", name=op.f("pk_jit_part")
        ),
    )
