"""The treasury's public key, to notice another lnd in its place."""

import sqlalchemy as sa
from alembic import op

revision = "0007_treasury"
down_revision = "0006_issued_certificates"


def upgrade() -> None:
    op.create_table(
        "treasury",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pubkey", sa.Text(), nullable=False),
        sa.Column("stranger", sa.Text(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_treasury_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_treasury")),
    )
