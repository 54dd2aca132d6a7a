"""What became of direct channels: their end, and what was told of it."""

import sqlalchemy as sa
from alembic import op

revision = "0023_closed_leases"
down_revision = "0022_direct_channels"


def upgrade() -> None:
    op.add_column("lease", sa.Column("closed", sa.BigInteger()))
    for name in ("closed_early", "told"):
        op.add_column(
            "lease", sa.Column(name, sa.Integer(), nullable=False, server_default="0")
        )
