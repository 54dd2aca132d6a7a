"""An order that is paid over Lightning only has no address.

Versions from here on also know orders that reserve coins once they are paid.
"""

import sqlalchemy as sa
from alembic import op

revision = "0048_lightning_only"
down_revision = "0047_alarm_subjects"

# It has the name that it had, as it only allows more.
_CHECK = "ck_channel_order_both_rails_or_none"
_RULE = "onchain_address IS NULL OR payment_hash IS NOT NULL"
_INDEXES = """
SELECT name, sql FROM sqlite_master
WHERE type = 'index' AND tbl_name = 'channel_order' AND sql IS NOT NULL
ORDER BY rowid"""


def upgrade() -> None:
    connection = op.get_bind()
    is_sqlite = connection.dialect.name == "sqlite"
    indexes = connection.execute(sa.text(_INDEXES)).all() if is_sqlite else []
    # SQLite copies the table. Foreign keys are not enforced meanwhile, so nothing that
    # points to it is deleted with the old one.
    with op.batch_alter_table("channel_order") as batch:
        batch.drop_constraint(op.f(_CHECK), type_="check")
        batch.create_check_constraint(op.f(_CHECK), _RULE)
    # The copy has its indexes in any order, by which SQLite chooses among equal ones.
    for name, sql in indexes:
        connection.execute(sa.text(f"DROP INDEX {name}"))
        connection.execute(sa.text(sql))
