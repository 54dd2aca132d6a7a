"""The end of a node's log, as its companion reported it."""

import sqlalchemy as sa
from alembic import op

revision = "0039_log_tails"
down_revision = "0036_zero_conf"


def upgrade() -> None:
    op.add_column("node_report", sa.Column("log_tail", sa.LargeBinary()))
