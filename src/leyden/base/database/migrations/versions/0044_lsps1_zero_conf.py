"""Orders of LSPS1 for channels that are usable unconfirmed say so, as others do."""

from alembic import op

revision = "0044_lsps1_zero_conf"
down_revision = "0043_replicas"


def upgrade() -> None:
    op.execute(
        "UPDATE channel_order SET zero_conf = 1 WHERE id IN "
        "(SELECT order_id FROM lsps1_order WHERE confirmations = 0)"
    )
