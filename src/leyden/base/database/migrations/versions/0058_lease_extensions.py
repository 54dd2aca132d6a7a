"""Leases that are extended, by their buyers or by themselves."""

import sqlalchemy as sa
from alembic import op

revision = "0058_lease_extensions"
down_revision = "0056_wrapped_invoices"

_STATUSES = "'waiting_payment', 'settling', 'extended', 'expired', 'failed'"


def upgrade() -> None:
    for name in ("extended", "auto_blocks", "auto_most"):
        op.add_column(
            "lease",
            sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"),
        )
    op.add_column(
        "lease", sa.Column("auto_refused", sa.Text(), nullable=False, server_default="")
    )
    op.create_table(
        "lease_extension",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("blocks", sa.BigInteger(), nullable=False),
        sa.Column("ends", sa.BigInteger(), nullable=False),
        sa.Column("premium", sa.BigInteger(), nullable=False),
        sa.Column("service_fee", sa.BigInteger(), nullable=False),
        sa.Column("credit_used", sa.BigInteger(), nullable=False),
        sa.Column("charged", sa.BigInteger(), nullable=False),
        sa.Column("lightning_invoice", sa.Text(), nullable=False),
        sa.Column("payment_hash", sa.Text()),
        sa.Column("peer", sa.Text(), nullable=False),
        sa.Column("scid", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.CheckConstraint(
            f"status IN ({_STATUSES})", name=op.f("ck_lease_extension_status_is_known")
        ),
        sa.ForeignKeyConstraint(
            ["order_id"], ["channel_order.id"], name=op.f("fk_lease_extension_order_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lease_extension")),
        sa.UniqueConstraint(
            "payment_hash", name=op.f("uq_lease_extension_payment_hash")
        ),
    )
    op.create_index("ix_lease_extension_order_id", "lease_extension", ["order_id"])
    op.create_index("ix_lease_extension_peer", "lease_extension", ["peer", "status"])
