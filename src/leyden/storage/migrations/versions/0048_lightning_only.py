"""An order that is paid over Lightning only has no address.

Versions from here on also know orders that reserve coins once they are paid.
"""

from alembic import op

revision = "0048_lightning_only"
down_revision = "0047_alarm_subjects"

_BEFORE = "ck_channel_order_both_rails_or_none"
_CHECK = "ck_channel_order_address_with_invoice"
_RULE = "onchain_address IS NULL OR payment_hash IS NOT NULL"


def upgrade() -> None:
    # SQLite copies the table. Foreign keys are not enforced meanwhile, so nothing that
    # points to it is deleted with the old one.
    with op.batch_alter_table("channel_order") as batch:
        batch.drop_constraint(op.f(_BEFORE), type_="check")
        batch.create_check_constraint(op.f(_CHECK), _RULE)
