"""A deleted node can be restored: one more command in the activity of a node.

And an index, by which many nodes are counted by status.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019_restored_nodes"
down_revision = "0018_peer_ports"

_CHECK = "ck_node_command_action_is_known"
_ACTIONS = (
    "action IN ('create', 'start', 'stop', 'restart', 'update', 'settings', 'delete', "
    "'restore')"
)
_SHOWN = "wanted <> 'deleted' OR process <> ''"
_FIELDS = "id, node_id, action, at, actor"


def upgrade() -> None:
    op.create_index(
        "ix_node_shown",
        "node",
        ["organization_id", "status", "name", "edition", "created"],
        sqlite_where=sa.text(_SHOWN),
        postgresql_where=sa.text(_SHOWN),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(op.f(_CHECK), "node_command", type_="check")
        op.create_check_constraint(op.f(_CHECK), "node_command", _ACTIONS)
        return
    # SQLite changes no constraint of a table that is there.
    op.rename_table("node_command", "node_command_before")
    op.drop_index("ix_node_command_node_id", "node_command_before")
    op.create_table(
        "node_command",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.CheckConstraint(_ACTIONS, name=op.f(_CHECK)),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_command_node_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_command")),
    )
    op.execute(
        f"INSERT INTO node_command ({_FIELDS}) SELECT {_FIELDS} "  # noqa: S608
        "FROM node_command_before ORDER BY id"
    )
    op.drop_table("node_command_before")
    op.create_index("ix_node_command_node_id", "node_command", ["node_id", "id"])
