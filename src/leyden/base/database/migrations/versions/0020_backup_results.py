"""What backups, their checks and their drills came to."""

import sqlalchemy as sa
from alembic import op

revision = "0020_backup_results"
down_revision = "0019_restored_nodes"


def upgrade() -> None:
    op.create_table(
        "backup_result",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ok", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("took_ms", sa.BigInteger(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "ok", name=op.f("pk_backup_result")),
        sa.CheckConstraint(
            "kind IN ('run', 'check', 'drill', 'attended', 'channels')",
            name=op.f("ck_backup_result_kind_is_known"),
        ),
    )
