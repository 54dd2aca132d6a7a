"""Replaced backups, kept for a while in case a new one is wrong."""

import sqlalchemy as sa
from alembic import op

revision = "0005_replaced_backups"
down_revision = "0004_used_challenges"


def upgrade() -> None:
    op.create_table(
        "replaced_backup",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            nullable=False,
        ),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_replaced_backup_node_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_replaced_backup")),
    )
    op.create_index(
        "ix_replaced_backup_node_id", "replaced_backup", ["node_id", "name", "id"]
    )
    op.create_index("ix_replaced_backup_at", "replaced_backup", ["at"])
