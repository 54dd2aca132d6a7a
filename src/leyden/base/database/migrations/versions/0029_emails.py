"""Emails, their links and subscriptions; formats of webhook endpoints."""

import sqlalchemy as sa
from alembic import op

revision = "0029_emails"
down_revision = "0028_node_starts"


def upgrade() -> None:
    op.add_column("person", sa.Column("confirmed", sa.BigInteger()))
    with op.batch_alter_table("subscription") as batch:
        batch.add_column(
            sa.Column("format", sa.Text(), nullable=False, server_default="standard")
        )
        batch.add_column(sa.Column("sealed_url", sa.LargeBinary()))
        batch.create_check_constraint(
            op.f("ck_subscription_format_is_known"),
            "format IN ('standard', 'slack', 'discord', 'telegram', 'ntfy', 'email')",
        )
    op.create_table(
        "email",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_email")),
    )
    op.create_table(
        "email_link",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("browser", sa.LargeBinary()),
        sa.Column("password", sa.LargeBinary()),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('confirm', 'reset')", name=op.f("ck_email_link_kind_is_known")
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["person.id"], name=op.f("fk_email_link_user_id")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_email_link")),
    )
    for column in ("user_id", "expires"):
        op.create_index(f"ix_email_link_{column}", "email_link", [column])
    op.create_table(
        "email_subscription",
        sa.Column("subscription_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("hour_began", sa.BigInteger(), nullable=False),
        sa.Column("hour_sent", sa.Integer(), nullable=False),
        sa.Column("sending_to", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["subscription.id"],
            name=op.f("fk_email_subscription_subscription_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["person.id"], name=op.f("fk_email_subscription_user_id")
        ),
        sa.PrimaryKeyConstraint("subscription_id", name=op.f("pk_email_subscription")),
        sa.UniqueConstraint(
            "user_id",
            "organization_id",
            name=op.f("uq_email_subscription_user_id"),
        ),
    )
