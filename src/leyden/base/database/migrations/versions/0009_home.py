"""The home of local nodes, its processes, and which nodes have a wallet."""

import sqlalchemy as sa
from alembic import op

revision = "0009_home"
down_revision = "0008_quotas"


def upgrade() -> None:
    op.create_table(
        "home",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("authority", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_home_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_home")),
    )
    op.create_table(
        "process",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("watches", sa.Integer(), nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_process")),
    )
    op.add_column(
        "task", sa.Column("holder", sa.Text(), nullable=False, server_default="")
    )
    op.add_column(
        "node",
        sa.Column("has_wallet", sa.Integer(), nullable=False, server_default="0"),
    )
    # Of nodes from before it is not known whether they have a wallet: those that did
    # not wait for one just now are taken to have it. It matters where it is not found.
    op.execute(
        "UPDATE node SET has_wallet = 1 "
        "WHERE host <> '' AND status NOT IN ('provisioning', 'waiting_init')"
    )
