"""Why a node's lnd does not run or can't be observed; when alarms were checked."""

import sqlalchemy as sa
from alembic import op

revision = "0046_node_trouble"
down_revision = "0045_indexes"


def upgrade() -> None:
    for name in ("trouble", "unknown"):
        column = sa.Column(name, sa.Text, nullable=False, server_default="")
        op.add_column("node", column)
    op.create_table(
        "alarm_check",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_alarm_check_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alarm_check")),
    )
