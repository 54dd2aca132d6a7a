"""Direct orders of channels that are usable unconfirmed, and keys of hosted nodes."""

import sqlalchemy as sa
from alembic import op

revision = "0036_zero_conf"
down_revision = "0035_fundings"


def upgrade() -> None:
    op.add_column(
        "channel_order",
        sa.Column("zero_conf", sa.Integer(), nullable=False, server_default="0"),
    )
    op.create_table(
        "node_key",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("pubkey", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_key_node_id")
        ),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_node_key")),
    )
