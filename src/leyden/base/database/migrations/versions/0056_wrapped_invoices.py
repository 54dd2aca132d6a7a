"""The invoices of just-in-time orders that are paid by a wrapped invoice."""

import sqlalchemy as sa
from alembic import op

revision = "0056_wrapped_invoices"
down_revision = "0055_jit_orders"


def upgrade() -> None:
    op.create_table(
        "jit_wrapped",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("payment_hash", sa.Text(), nullable=False),
        sa.Column("inner_request", sa.Text(), nullable=False),
        sa.Column("wrapped_request", sa.Text(), nullable=False),
        sa.Column("delta", sa.Integer(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("closed", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["order_id"], ["jit_order.id"], name=op.f("fk_jit_wrapped_order_id")
        ),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_jit_wrapped")),
        sa.UniqueConstraint("payment_hash", name=op.f("uq_jit_wrapped_payment_hash")),
    )
    op.create_index("ix_jit_wrapped_closed", "jit_wrapped", ["closed", "address"])
