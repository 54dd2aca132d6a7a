"""Certificates from external authorities, and our accounts there."""

import sqlalchemy as sa
from alembic import op

revision = "0006_issued_certificates"
down_revision = "0005_replaced_backups"


def upgrade() -> None:
    op.create_table(
        "issuer_account",
        sa.Column("directory", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("directory", name=op.f("pk_issuer_account")),
    )
    op.create_table(
        "issued_certificate",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("node_id", sa.Text(), nullable=True),
        sa.Column("chain", sa.LargeBinary(), nullable=True),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("key", sa.LargeBinary(), nullable=True),
        sa.Column("order_url", sa.Text(), nullable=False),
        sa.Column("order_key", sa.LargeBinary(), nullable=True),
        sa.Column("refusals", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "(chain IS NULL) = (key IS NULL) AND (chain IS NULL) = (until IS NULL)",
            name=op.f("ck_issued_certificate_chain_has_its_key"),
        ),
        sa.CheckConstraint(
            "(order_url = '') = (order_key IS NULL)",
            name=op.f("ck_issued_certificate_order_has_its_key"),
        ),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_issued_certificate_node_id")
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_issued_certificate")),
        sa.UniqueConstraint("node_id", name=op.f("uq_issued_certificate_node_id")),
    )
