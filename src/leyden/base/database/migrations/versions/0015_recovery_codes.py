"""Recovery codes: each signs a person in once, in place of an authenticator code."""

import sqlalchemy as sa
from alembic import op

revision = "0015_recovery_codes"
down_revision = "0012_log_places"


def upgrade() -> None:
    op.create_table(
        "recovery_code",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["person.id"], name=op.f("fk_recovery_code_user_id_person")
        ),
        sa.PrimaryKeyConstraint("user_id", "digest", name=op.f("pk_recovery_code")),
    )
