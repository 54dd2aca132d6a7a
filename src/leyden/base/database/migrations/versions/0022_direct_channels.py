"""Direct channels: their node, the seller's coins that orders reserve, the seller."""

import sqlalchemy as sa
from alembic import op

revision = "0022_direct_channels"
down_revision = "0021_subscriptions"

_TEXTS = ("node_host", "node_id", "channel_point")
_NUMBERS = ("announce", "htlc_expires")


def upgrade() -> None:
    op.add_column("channel_order", sa.Column("node_key", sa.Text()))
    for name in _TEXTS:
        op.add_column(
            "channel_order",
            sa.Column(name, sa.Text(), nullable=False, server_default=""),
        )
    for name in _NUMBERS:
        op.add_column(
            "channel_order",
            sa.Column(name, sa.Integer(), nullable=False, server_default="0"),
        )
    direct = sa.text("node_key IS NOT NULL")
    op.create_index(
        "ix_channel_order_direct",
        "channel_order",
        ["node_key", "created"],
        sqlite_where=direct,
        postgresql_where=direct,
    )
    asked = sa.text("node_key IS NOT NULL AND status = 'submitted'")
    op.create_index(
        "uq_channel_order_asked",
        "channel_order",
        ["node_key"],
        unique=True,
        sqlite_where=asked,
        postgresql_where=asked,
    )
    op.create_table(
        "reserved_coin",
        sa.Column("txid", sa.Text(), nullable=False),
        sa.Column("vout", sa.Integer(), nullable=False),
        sa.Column(
            "order_id",
            sa.Text(),
            sa.ForeignKey(
                "channel_order.id", name="fk_reserved_coin_order_id_channel_order"
            ),
            nullable=False,
        ),
        sa.Column("sats", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("txid", "vout", name="pk_reserved_coin"),
    )
    op.create_index("ix_reserved_coin_order_id", "reserved_coin", ["order_id"])
    op.create_table(
        "seller",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pubkey", sa.Text(), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_seller"),
        sa.CheckConstraint("id = 1", name=op.f("ck_seller_only_one")),
    )
