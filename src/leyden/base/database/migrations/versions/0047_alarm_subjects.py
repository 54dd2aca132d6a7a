"""Alarms by what they are about, findings of jobs, and the treasury's last check.

The table `alarm` stays: the release before this one writes it while both run. What is
raised at the upgrade is announced once more, now with what it is about.
"""

import sqlalchemy as sa
from alembic import op

revision = "0047_alarm_subjects"
down_revision = "0046_node_trouble"


def upgrade() -> None:
    op.create_table(
        "raised_alarm",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "kind", "subject", "reason", name=op.f("pk_raised_alarm")
        ),
    )
    op.create_table(
        "finding",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("found", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", name=op.f("pk_finding")),
    )
    op.create_table(
        "treasury_check",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("orders", sa.Integer(), nullable=False),
        sa.Column("unknown", sa.Integer(), nullable=False),
        sa.Column("differences", sa.Integer(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_treasury_check_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_treasury_check")),
    )
