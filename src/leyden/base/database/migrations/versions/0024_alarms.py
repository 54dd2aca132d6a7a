"""Alarms that are raised; subscriptions of the installation, which is in no table."""

import sqlalchemy as sa
from alembic import op

revision = "0024_alarms"
down_revision = "0023_closed_leases"


def upgrade() -> None:
    op.create_table(
        "alarm",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", name=op.f("pk_alarm")),
    )
    # SQLite copies the table. Foreign keys are not enforced meanwhile, so nothing that
    # points to it is deleted with the old one.
    with op.batch_alter_table("subscription") as batch:
        batch.drop_constraint(
            op.f("fk_subscription_organization_id"), type_="foreignkey"
        )
