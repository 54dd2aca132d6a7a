"""Leases: the channels of filled orders, and what they cost."""

import sqlalchemy as sa
from alembic import op

revision = "0003_leases"
down_revision = "0002_sign_in"


def upgrade() -> None:
    op.create_table(
        "lease",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("channel_point", sa.Text(), nullable=False),
        sa.Column("premium", sa.BigInteger(), nullable=False),
        sa.Column("execution_fee", sa.BigInteger(), nullable=False),
        sa.Column("chain_fee", sa.BigInteger(), nullable=False),
        sa.Column("self_chan_balance", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "premium >= 0 AND execution_fee >= 0 AND chain_fee >= 0 AND self_chan_balance >= 0",
            name=op.f("ck_lease_no_cost_is_negative"),
        ),
        sa.ForeignKeyConstraint(
            ["order_id"],
            ["channel_order.id"],
            name=op.f("fk_lease_order_id_channel_order"),
        ),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_lease")),
    )
