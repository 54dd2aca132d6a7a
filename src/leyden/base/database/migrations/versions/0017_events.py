"""The event log of each organization."""

import sqlalchemy as sa
from alembic import op

revision = "0017_events"
down_revision = "0016_unused_fees"


def upgrade() -> None:
    op.create_table(
        "event_log",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("oldest", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", name=op.f("pk_event_log")),
    )
    op.create_table(
        "event",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("once", sa.Text()),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "number", name=op.f("pk_event")),
        sqlite_with_rowid=False,
    )
    once = sa.text("once IS NOT NULL")
    op.create_index(
        "ix_event_once",
        "event",
        ["organization_id", "once"],
        sqlite_where=once,
        postgresql_where=once,
    )
