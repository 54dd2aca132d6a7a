"""What the auction leaves of a pool fee, and more about each lease.

Orders that are filled by now keep it: that is how they were booked, and nothing
is paid back for them. Orders that are still open are credited when they are filled.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016_unused_fees"
down_revision = "0015_recovery_codes"


def upgrade() -> None:
    for table in ("channel_order", "quote"):
        op.add_column(
            table,
            sa.Column(
                "keeps_unused_fee", sa.Integer(), nullable=False, server_default="0"
            ),
        )
    op.execute("UPDATE channel_order SET keeps_unused_fee = 1 WHERE status = 'filled'")
    for name in ("node", "peer"):
        op.add_column(
            "lease", sa.Column(name, sa.Text(), nullable=False, server_default="")
        )
    op.add_column(
        "lease",
        sa.Column("height", sa.BigInteger(), nullable=False, server_default="0"),
    )
