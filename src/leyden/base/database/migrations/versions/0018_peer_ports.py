"""The public port of each node for its peers; nodes from before have none."""

import sqlalchemy as sa
from alembic import op

revision = "0018_peer_ports"
down_revision = "0017_events"


def upgrade() -> None:
    op.add_column("node", sa.Column("peer_port", sa.Integer()))
    op.add_column("node", sa.Column("peer_port_released", sa.BigInteger()))
    op.create_index("uq_node_peer_port", "node", ["peer_port"], unique=True)
    op.create_index("ix_node_peer_port_released", "node", ["peer_port_released"])
