"""Just-in-time channels whose transaction is published once they are paid."""

import sqlalchemy as sa
from alembic import op

revision = "0063_unpublished_channels"
down_revision = "0062_purchases"

_CHECK = "ck_jit_order_status_is_known"
_STATUSES = (
    "'sold', 'holding', 'opening', 'opened', 'resuming', 'earned', 'unpaid', "
    "'retracting', 'expired'"
)


def upgrade() -> None:
    with op.batch_alter_table("jit_order") as batch:
        batch.add_column(
            sa.Column("trusts", sa.Integer(), nullable=False, server_default="0")
        )
        batch.add_column(
            sa.Column(
                "funding_transaction", sa.Text(), nullable=False, server_default=""
            )
        )
        batch.drop_constraint(op.f(_CHECK), type_="check")
        batch.create_check_constraint(op.f(_CHECK), f"status IN ({_STATUSES})")
