"""When owners were last reminded to prove the backups of their nodes."""

import sqlalchemy as sa
from alembic import op

revision = "0030_drill_reminders"
down_revision = "0029_emails"


def upgrade() -> None:
    op.create_table(
        "node_drill_reminder",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_drill_reminder_node_id")
        ),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_node_drill_reminder")),
    )
