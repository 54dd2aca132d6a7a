"""Keys and responses of the operator API, which belong to the installation.

It is in no table, as for its subscriptions.
"""

from alembic import op

revision = "0051_operator_keys"
down_revision = "0050_display_of_people"


def upgrade() -> None:
    for table in ("api_key", "saved_answer"):
        # SQLite copies the table; nothing points to either.
        with op.batch_alter_table(table) as batch:
            batch.drop_constraint(
                op.f(f"fk_{table}_organization_id"), type_="foreignkey"
            )
