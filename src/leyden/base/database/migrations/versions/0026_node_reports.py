"""What companions of nodes in a cluster last reported."""

import sqlalchemy as sa
from alembic import op

revision = "0026_node_reports"
down_revision = "0024_alarms"


def upgrade() -> None:
    op.create_table(
        "node_report",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("macaroons_removed", sa.Integer(), nullable=False),
        sa.Column("disk", sa.BigInteger(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_report_node_id_node")
        ),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_node_report")),
    )
