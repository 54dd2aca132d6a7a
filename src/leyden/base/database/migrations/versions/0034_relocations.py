"""Which runtime has a node, and moves between them."""

import sqlalchemy as sa
from alembic import op

revision = "0034_relocations"
down_revision = "0031_lsps1_orders"

_STEPS = "'stopping', 'copying', 'switching', 'returning', 'cleaning', 'done'"


def upgrade() -> None:
    for name, default in (("runtime", "local"), ("moves_to", "")):
        op.add_column(
            "node", sa.Column(name, sa.Text(), nullable=False, server_default=default)
        )
    op.add_column(
        "home", sa.Column("cluster", sa.Text(), nullable=False, server_default="")
    )
    # A namespace's uid has hyphens; a folder's identity has none.
    op.execute("UPDATE home SET cluster = place WHERE identity LIKE '%-%'")
    op.execute(
        "UPDATE node SET runtime = 'kubernetes' "
        "WHERE EXISTS (SELECT id FROM home WHERE cluster <> '')"
    )
    op.create_table(
        "relocation",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("copy", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(f"step IN ({_STEPS})", name=op.f("ck_relocation_step")),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_relocation_node_id")
        ),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_relocation")),
    )
