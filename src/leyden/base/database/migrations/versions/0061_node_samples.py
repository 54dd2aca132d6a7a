"""What nodes used in the last day and month, for their charts."""

import sqlalchemy as sa
from alembic import op

revision = "0061_node_samples"
down_revision = "0058_lease_extensions"


def upgrade() -> None:
    op.create_table(
        "node_sample",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("span", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("memory", sa.BigInteger()),
        sa.Column("cpu_millis", sa.Integer()),
        sa.Column("bytes_in", sa.BigInteger()),
        sa.Column("bytes_out", sa.BigInteger()),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("node_id", "span", "slot", name=op.f("pk_node_sample")),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_sample_node_id")
        ),
        sqlite_with_rowid=False,
    )
