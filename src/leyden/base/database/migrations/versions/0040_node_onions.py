"""The onion service of each node; nodes from before have none."""

import sqlalchemy as sa
from alembic import op

revision = "0040_node_onions"
down_revision = "0039_log_tails"


def upgrade() -> None:
    onion = sa.Column("onion", sa.Text(), nullable=False, server_default="")
    op.add_column("node", onion)
    op.create_table(
        "node_onion",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("seed", sa.LargeBinary(), nullable=False),
        sa.Column("told", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_node_onion")),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_onion_node_id")
        ),
    )
