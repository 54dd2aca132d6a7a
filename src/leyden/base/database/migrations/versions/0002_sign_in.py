"""Sign-in: sessions, second factors, passkeys, invitations, operators."""

import sqlalchemy as sa
from alembic import op

revision = "0002_sign_in"
down_revision = "0001"

_ROLES = "('owner', 'admin', 'developer', 'billing', 'viewer')"


def upgrade() -> None:
    op.create_table(
        "session",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("whole", sa.Integer(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("browser", sa.Text(), nullable=False),
        sa.CheckConstraint("whole IN (0, 1)", name=op.f("ck_session_whole_is_known")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["person.id"], name=op.f("fk_session_user_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
        sa.UniqueConstraint("digest", name=op.f("uq_session_digest")),
    )
    op.create_index("ix_session_user_id", "session", ["user_id"], unique=False)
    op.create_index("ix_session_expires", "session", ["expires"], unique=False)
    op.create_table(
        "sign_in_failure",
        sa.Column("who", sa.LargeBinary(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("who", name=op.f("pk_sign_in_failure")),
    )
    op.create_index(
        "ix_sign_in_failure_since", "sign_in_failure", ["since"], unique=False
    )
    op.create_table(
        "totp",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("confirmed", sa.BigInteger(), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["person.id"], name=op.f("fk_totp_user_id")
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_totp")),
    )
    op.create_table(
        "passkey",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("last_used", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["person.id"], name=op.f("fk_passkey_user_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkey")),
    )
    op.create_index("ix_passkey_user_id", "passkey", ["user_id"], unique=False)
    op.create_table(
        "invitation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            f"role IN {_ROLES}", name=op.f("ck_invitation_role_is_known")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_invitation_organization_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sa.UniqueConstraint("digest", name=op.f("uq_invitation_digest")),
    )
    op.create_index(
        "ix_invitation_organization_id",
        "invitation",
        ["organization_id"],
        unique=False,
    )
    op.create_table(
        "operator",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["person.id"], name=op.f("fk_operator_user_id")
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_operator")),
    )
