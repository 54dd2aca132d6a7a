"""Which versions run on the schema, and the oldest that may."""

import sqlalchemy as sa
from alembic import op

revision = "0043_replicas"
down_revision = "0040_node_onions"


def upgrade() -> None:
    op.create_table(
        "replica",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("newest", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_replica")),
    )
    floor = op.create_table(
        "schema_floor",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("oldest", sa.Text(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_schema_floor_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schema_floor")),
    )
    op.bulk_insert(floor, [{"id": 1, "oldest": ""}])
