"""Used passkey challenges, so that none is used twice."""

import sqlalchemy as sa
from alembic import op

revision = "0004_used_challenges"
down_revision = "0003_leases"


def upgrade() -> None:
    op.create_table(
        "used_challenge",
        sa.Column("challenge", sa.LargeBinary(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("challenge", name=op.f("pk_used_challenge")),
    )
    op.create_index(
        "ix_used_challenge_until", "used_challenge", ["until"], unique=False
    )
