"""Funding transactions of direct channels, until they are buried, and their bumps."""

import sqlalchemy as sa
from alembic import op

revision = "0035_fundings"
down_revision = "0034_relocations"

_STATES = "'unconfirmed', 'confirmed', 'buried', 'lost'"
_OBSTACLES = "'', 'capped', 'no_change', 'forbidden', 'refused', 'conflict', 'vanished'"


def upgrade() -> None:
    op.create_table(
        "funding",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("coins", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("obstacle", sa.Text(), nullable=False),
        sa.CheckConstraint(
            f"state IN ({_STATES})", name=op.f("ck_funding_state_is_known")
        ),
        sa.CheckConstraint(
            f"obstacle IN ({_OBSTACLES})", name=op.f("ck_funding_obstacle_is_known")
        ),
        sa.ForeignKeyConstraint(
            ["order_id"],
            ["channel_order.id"],
            name=op.f("fk_funding_order_id"),
        ),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_funding")),
    )
    watched = sa.text("state IN ('unconfirmed', 'confirmed')")
    op.create_index(
        "ix_funding_watched",
        "funding",
        ["order_id"],
        sqlite_where=watched,
        postgresql_where=watched,
    )
    op.create_table(
        "funding_bump",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("height", sa.BigInteger(), nullable=False),
        sa.Column("sat_per_vb", sa.Integer(), nullable=False),
        sa.Column("fee", sa.BigInteger(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["order_id"],
            ["funding.order_id"],
            name=op.f("fk_funding_bump_order_id"),
        ),
        sa.PrimaryKeyConstraint("order_id", "number", name=op.f("pk_funding_bump")),
    )
