"""How often nodes were started, and drills of their owners."""

import sqlalchemy as sa
from alembic import op

revision = "0028_node_starts"
down_revision = "0026_node_reports"


def upgrade() -> None:
    node = sa.ForeignKeyConstraint(
        ["node_id"], ["node.id"], name=op.f("fk_node_start_node_id")
    )
    op.create_table(
        "node_start",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("copy", sa.Text(), nullable=False),
        node,
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_node_start")),
    )
    op.create_table(
        "node_drill",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_drill_node_id")
        ),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_node_drill")),
    )
