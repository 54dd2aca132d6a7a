"""Log positions, so that no event is lost or announced twice.

Existing nodes start at the end of their logs: everything before was
announced already, or is long ago.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012_log_places"
down_revision = "0009_home"


def upgrade() -> None:
    op.create_table(
        "node_log_place",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("inode", sa.BigInteger(), nullable=False),
        sa.Column("byte", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.Column("rotated", sa.Integer(), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_log_place_node_id_node")
        ),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_node_log_place")),
    )
    nodes = sa.table("node", sa.column("id"), sa.column("slot"))
    places = sa.table(
        "node_log_place",
        *map(sa.column, ("node_id", "inode", "byte", "head", "rotated", "edition")),
    )
    nothing = sa.literal(b"", sa.LargeBinary())
    op.execute(
        places.insert().from_select(
            places.columns.keys(),
            sa.select(
                nodes.c.id,
                sa.literal(0),
                sa.literal(-1),
                nothing,
                sa.literal(0),
                sa.literal(1),
            ).where(nodes.c.slot.is_not(None)),
        )
    )
