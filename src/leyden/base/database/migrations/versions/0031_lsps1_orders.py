"""Orders that came over LSPS1."""

import sqlalchemy as sa
from alembic import op

revision = "0031_lsps1_orders"
down_revision = "0030_drill_reminders"


def upgrade() -> None:
    op.create_table(
        "lsps1_order",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("confirmations", sa.BigInteger(), nullable=False),
        sa.Column("within_blocks", sa.BigInteger(), nullable=False),
        sa.Column("token", sa.Text()),
        sa.ForeignKeyConstraint(
            ["order_id"],
            ["channel_order.id"],
            name="fk_lsps1_order_order_id_channel_order",
        ),
        sa.PrimaryKeyConstraint("order_id", name="pk_lsps1_order"),
        sa.CheckConstraint(
            "source IN ('bolt8', 'http')", name=op.f("ck_lsps1_order_source_is_known")
        ),
    )
