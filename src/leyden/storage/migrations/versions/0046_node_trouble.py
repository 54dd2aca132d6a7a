"""Why a node's lnd does not run, and since when it can't be observed."""

import sqlalchemy as sa
from alembic import op

revision = "0046_node_trouble"
down_revision = "0045_indexes"


def upgrade() -> None:
    for name in ("trouble", "unknown"):
        column = sa.Column(name, sa.Text, nullable=False, server_default="")
        op.add_column("node", column)
