"""The initial schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(
        "ix_audit_organization_id_at", "audit", ["organization_id", "at"], unique=False
    )
    op.create_table(
        "balance",
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("sats", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "sats >= 0 OR place LIKE 'owed:%' OR place LIKE 'receivable:%'",
            name=op.f("ck_balance_credit_is_never_negative"),
        ),
        sa.PrimaryKeyConstraint("place", name=op.f("pk_balance")),
    )
    op.create_table(
        "organization",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organization")),
        sa.UniqueConstraint("name", name=op.f("uq_organization_name")),
    )
    op.create_table(
        "person",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("email", name=op.f("uq_person_email")),
    )
    op.create_table(
        "secret_check",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_secret_check_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_secret_check")),
    )
    op.create_table(
        "task",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("lease", sa.BigInteger(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "key", name=op.f("pk_task")),
    )
    op.create_index("ix_task_kind_due", "task", ["kind", "due"], unique=False)
    op.create_table(
        "api_key",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        sa.Column("last_used", sa.BigInteger(), nullable=True),
        sa.Column("revoked", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_api_key_organization_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_key_digest")),
    )
    op.create_index(
        "ix_api_key_organization_id", "api_key", ["organization_id"], unique=False
    )
    op.create_table(
        "channel_order",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("capacity", sa.BigInteger(), nullable=False),
        sa.Column("self_chan_balance", sa.BigInteger(), nullable=False),
        sa.Column("lease_duration_blocks", sa.Integer(), nullable=False),
        sa.Column("node_tier", sa.Text(), nullable=False),
        sa.Column("bps", sa.Integer(), nullable=True),
        sa.Column("rate_bps", sa.Integer(), nullable=False),
        sa.Column("rate_fixed", sa.BigInteger(), nullable=False),
        sa.Column("service_fee", sa.BigInteger(), nullable=False),
        sa.Column("pool_fee", sa.BigInteger(), nullable=False),
        sa.Column("self_chan_balance_fee", sa.BigInteger(), nullable=False),
        sa.Column("credit_used", sa.BigInteger(), nullable=False),
        sa.Column("charged", sa.BigInteger(), nullable=False),
        sa.Column("credit_refund", sa.BigInteger(), nullable=False),
        sa.Column("paid_at", sa.BigInteger(), nullable=True),
        sa.Column("onchain_address", sa.Text(), nullable=True),
        sa.Column("lightning_invoice", sa.Text(), nullable=True),
        sa.Column("payment_hash", sa.Text(), nullable=True),
        sa.Column("invoice_state", sa.Text(), nullable=True),
        sa.Column("accepted", sa.BigInteger(), nullable=False),
        sa.Column("offered", sa.Integer(), nullable=False),
        sa.Column("ticket_ref", sa.Text(), nullable=True),
        sa.Column("sealed_ticket", sa.LargeBinary(), nullable=True),
        sa.Column("order_nonce", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "invoice_state IN ('open', 'accepted', 'settled', 'cancelled', 'missing')",
            name=op.f("ck_channel_order_invoice_state_is_known"),
        ),
        sa.CheckConstraint(
            "node_tier IN ('any', 'best')",
            name=op.f("ck_channel_order_node_tier_is_known"),
        ),
        sa.CheckConstraint(
            "status IN ('waiting_payment', 'expired', 'creating', 'created', 'submitted', 'filled', 'failed', 'cancelled')",
            name=op.f("ck_channel_order_status_is_known"),
        ),
        sa.CheckConstraint(
            "(payment_hash IS NULL) = (onchain_address IS NULL)",
            name=op.f("ck_channel_order_both_rails_or_none"),
        ),
        sa.CheckConstraint(
            "credit_refund >= 0", name=op.f("ck_channel_order_refund_not_negative")
        ),
        sa.CheckConstraint(
            "credit_used >= 0 AND charged >= 0 AND credit_used + charged <= service_fee + pool_fee + self_chan_balance_fee",
            name=op.f("ck_channel_order_covered_at_most_once"),
        ),
        sa.CheckConstraint(
            "service_fee >= 0 AND pool_fee >= 0 AND self_chan_balance_fee >= 0",
            name=op.f("ck_channel_order_no_fee_is_negative"),
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_channel_order_organization_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channel_order")),
        sa.UniqueConstraint(
            "onchain_address", name=op.f("uq_channel_order_onchain_address")
        ),
        sa.UniqueConstraint("payment_hash", name=op.f("uq_channel_order_payment_hash")),
        sa.UniqueConstraint("ticket_ref", name=op.f("uq_channel_order_ticket_ref")),
    )
    op.create_index(
        "ix_channel_order_created",
        "channel_order",
        ["id"],
        unique=False,
        sqlite_where=sa.text("status = 'created'"),
        postgresql_where=sa.text("status = 'created'"),
    )
    op.create_index(
        "ix_channel_order_creating",
        "channel_order",
        ["id"],
        unique=False,
        sqlite_where=sa.text("status = 'creating'"),
        postgresql_where=sa.text("status = 'creating'"),
    )
    op.create_index(
        "ix_channel_order_organization_id",
        "channel_order",
        ["organization_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        "ix_channel_order_submitted",
        "channel_order",
        ["id"],
        unique=False,
        sqlite_where=sa.text("status = 'submitted'"),
        postgresql_where=sa.text("status = 'submitted'"),
    )
    op.create_index(
        "ix_channel_order_waiting_payment",
        "channel_order",
        ["id"],
        unique=False,
        sqlite_where=sa.text("status = 'waiting_payment'"),
        postgresql_where=sa.text("status = 'waiting_payment'"),
    )
    op.create_table(
        "corporate_account",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("most_owed", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "most_owed >= 0", name=op.f("ck_corporate_account_limit_not_negative")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_corporate_account_organization_id"),
        ),
        sa.PrimaryKeyConstraint("organization_id", name=op.f("pk_corporate_account")),
    )
    op.create_table(
        "coupon",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("sats", sa.BigInteger(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("claimed_by", sa.Text(), nullable=True),
        sa.Column("claimed_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "(claimed_by IS NULL) = (claimed_at IS NULL)",
            name=op.f("ck_coupon_claimed_by_someone"),
        ),
        sa.CheckConstraint(
            "claimed_by IS NULL OR organization_id IS NULL OR claimed_by = organization_id",
            name=op.f("ck_coupon_claimed_by_its_owner"),
        ),
        sa.CheckConstraint("sats > 0", name=op.f("ck_coupon_worth_something")),
        sa.ForeignKeyConstraint(
            ["claimed_by"], ["organization.id"], name=op.f("fk_coupon_claimed_by")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_coupon_organization_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_coupon")),
    )
    op.create_index("ix_coupon_claimed_by", "coupon", ["claimed_by"], unique=False)
    op.create_index(
        "ix_coupon_organization_id", "coupon", ["organization_id"], unique=False
    )
    op.create_table(
        "coupon_guess",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_coupon_guess_organization_id"),
        ),
        sa.PrimaryKeyConstraint("organization_id", name=op.f("pk_coupon_guess")),
    )
    op.create_table(
        "membership",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "role IN ('owner', 'admin', 'developer', 'billing', 'viewer')",
            name=op.f("ck_membership_role_is_known"),
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_membership_organization_id"),
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["person.id"], name=op.f("fk_membership_user_id")
        ),
        sa.PrimaryKeyConstraint(
            "organization_id", "user_id", name=op.f("pk_membership")
        ),
    )
    op.create_index("ix_membership_user_id", "membership", ["user_id"], unique=False)
    op.create_table(
        "node",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("network", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("api_endpoint", sa.Text(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("wanted", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column("launched", sa.Integer(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("launched_at", sa.BigInteger(), nullable=True),
        sa.Column("crashes", sa.Integer(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("purchased_type", sa.Text(), nullable=False),
        sa.Column("purchase_status", sa.Text(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        sa.Column("edition", sa.BigInteger(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "network IN ('mainnet', 'testnet')", name=op.f("ck_node_network_is_known")
        ),
        sa.CheckConstraint(
            "purchase_status IN ('active', 'past_due', 'suspended')",
            name=op.f("ck_node_purchase_status_is_known"),
        ),
        sa.CheckConstraint(
            "purchased_type IN ('paid', 'ondemand', 'trial')",
            name=op.f("ck_node_purchased_type_is_known"),
        ),
        sa.CheckConstraint(
            "slot IS NOT NULL OR (wanted = 'deleted' AND process = '')",
            name=op.f("ck_node_has_a_slot_while_it_lives"),
        ),
        sa.CheckConstraint(
            "status <> 'deleting' OR wanted = 'deleted'",
            name=op.f("ck_node_deleting_is_wanted"),
        ),
        sa.CheckConstraint(
            "status IN ('provisioning', 'starting', 'waiting_init', 'waiting_unlock', 'running', 'stopping', 'stopped', 'restarting', 'updating', 'failed', 'deleting')",
            name=op.f("ck_node_status_is_known"),
        ),
        sa.CheckConstraint(
            "type IN ('standard', 'professional')", name=op.f("ck_node_type_is_known")
        ),
        sa.CheckConstraint(
            "wanted IN ('running', 'stopped', 'deleted')",
            name=op.f("ck_node_wanted_is_known"),
        ),
        sa.CheckConstraint(
            "launched <= revision", name=op.f("ck_node_launched_what_there_was")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_node_organization_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node")),
        sa.UniqueConstraint("api_endpoint", name=op.f("uq_node_api_endpoint")),
        sa.UniqueConstraint("slot", name=op.f("uq_node_slot")),
    )
    op.create_index(
        "ix_node_organization_id",
        "node",
        ["organization_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        "uq_node_name",
        "node",
        ["organization_id", "name"],
        unique=True,
        sqlite_where=sa.text("wanted != 'deleted'"),
        postgresql_where=sa.text("wanted != 'deleted'"),
    )
    op.create_table(
        "quote",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("wish", sa.Text(), nullable=False),
        sa.Column("quoted", sa.BigInteger(), nullable=False),
        sa.Column("rate_bps", sa.Integer(), nullable=False),
        sa.Column("rate_fixed", sa.BigInteger(), nullable=False),
        sa.Column("service_fee", sa.BigInteger(), nullable=False),
        sa.Column("pool_fee", sa.BigInteger(), nullable=False),
        sa.Column("self_chan_balance_fee", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_quote_organization_id"),
        ),
        sa.PrimaryKeyConstraint("organization_id", "wish", name=op.f("pk_quote")),
    )
    op.create_index("ix_quote_quoted", "quote", ["quoted"], unique=False)
    op.create_table(
        "saved_answer",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_saved_answer_organization_id"),
        ),
        sa.PrimaryKeyConstraint("organization_id", "key", name=op.f("pk_saved_answer")),
    )
    op.create_index(
        "ix_saved_answer_expires", "saved_answer", ["expires"], unique=False
    )
    op.create_table(
        "chain_output",
        sa.Column("txid", sa.Text(), nullable=False),
        sa.Column("vout", sa.Integer(), nullable=False),
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("sats", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.Column("bookings", sa.Integer(), nullable=False),
        sa.Column("to_order", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "state IN ('seen', 'booked', 'buried', 'gone')",
            name=op.f("ck_chain_output_state_is_known"),
        ),
        sa.CheckConstraint(
            "to_order >= 0 AND to_order <= sats",
            name=op.f("ck_chain_output_part_of_the_whole"),
        ),
        sa.ForeignKeyConstraint(
            ["order_id"], ["channel_order.id"], name=op.f("fk_chain_output_order_id")
        ),
        sa.PrimaryKeyConstraint("txid", "vout", name=op.f("pk_chain_output")),
    )
    op.create_index(
        "ix_chain_output_order_id", "chain_output", ["order_id"], unique=False
    )
    op.create_index(
        "ix_chain_output_watched",
        "chain_output",
        ["order_id"],
        unique=False,
        sqlite_where=sa.text("state IN ('seen', 'booked')"),
        postgresql_where=sa.text("state IN ('seen', 'booked')"),
    )
    op.create_table(
        "entry",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("sats", sa.BigInteger(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=True),
        sa.Column("order_id", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "what IN ('credit_used', 'charged', 'promise', 'handed_back', 'payment', 'surplus', 'late', 'released', 'reversed', 'earned', 'auction', 'coupon', 'correction', 'refund')",
            name=op.f("ck_entry_what_is_known"),
        ),
        sa.CheckConstraint("sats > 0", name=op.f("ck_entry_moves_something")),
        sa.CheckConstraint("source <> target", name=op.f("ck_entry_moves_somewhere")),
        sa.ForeignKeyConstraint(
            ["order_id"], ["channel_order.id"], name=op.f("fk_entry_order_id")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name=op.f("fk_entry_organization_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entry")),
        sa.UniqueConstraint("key", name=op.f("uq_entry_key")),
    )
    op.create_index("ix_entry_order_id", "entry", ["order_id"], unique=False)
    op.create_index(
        "ix_entry_organization_id", "entry", ["organization_id", "id"], unique=False
    )
    op.create_table(
        "node_channel_backup",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("taken", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_channel_backup_node_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_channel_backup")),
        sa.UniqueConstraint(
            "node_id", "digest", name=op.f("uq_node_channel_backup_node_id")
        ),
    )
    op.create_table(
        "node_command",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "action IN ('create', 'start', 'stop', 'restart', 'update', 'settings', 'delete')",
            name=op.f("ck_node_command_action_is_known"),
        ),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_command_node_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_command")),
    )
    op.create_index(
        "ix_node_command_node_id", "node_command", ["node_id", "id"], unique=False
    )
    op.create_table(
        "node_macaroon",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_macaroon_node_id")
        ),
        sa.PrimaryKeyConstraint("node_id", "name", name=op.f("pk_node_macaroon")),
    )
    op.create_table(
        "node_outfit",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("sealed_settings", sa.LargeBinary(), nullable=False),
        sa.Column("webhook_secret", sa.LargeBinary(), nullable=False),
        sa.Column("certificate", sa.LargeBinary(), nullable=False),
        sa.Column("certificate_until", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_outfit_node_id")
        ),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_node_outfit")),
    )
    op.create_table(
        "node_seed",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_node_seed_node_id")
        ),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_node_seed")),
    )
    op.create_table(
        "order_move",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["order_id"], ["channel_order.id"], name=op.f("fk_order_move_order_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_order_move")),
    )
    op.create_index("ix_order_move_order_id", "order_move", ["order_id"], unique=False)
    op.create_table(
        "webhook_event",
        sa.Column(
            "position",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            nullable=False,
        ),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("told_once", sa.Text(), nullable=True),
        sa.Column("test", sa.Integer(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("overtakable", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "state IN ('pending', 'delivered', 'superseded', 'failed')",
            name=op.f("ck_webhook_event_state_is_known"),
        ),
        sa.CheckConstraint(
            "type IN ('status', 'update', 'error')",
            name=op.f("ck_webhook_event_type_is_known"),
        ),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_webhook_event_node_id")
        ),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_webhook_event")),
        sa.UniqueConstraint("id", name=op.f("uq_webhook_event_id")),
    )
    op.create_index(
        "ix_webhook_event_node_id",
        "webhook_event",
        ["node_id", "position"],
        unique=False,
    )
    op.create_index(
        "ix_webhook_event_one_status",
        "webhook_event",
        ["node_id"],
        unique=True,
        sqlite_where=sa.text("state = 'pending' AND type = 'status'"),
        postgresql_where=sa.text("state = 'pending' AND type = 'status'"),
    )
    op.create_index(
        "ix_webhook_event_pending",
        "webhook_event",
        ["node_id", "position"],
        unique=False,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "uq_webhook_event_told_once",
        "webhook_event",
        ["node_id", "told_once"],
        unique=True,
        sqlite_where=sa.text("told_once IS NOT NULL"),
        postgresql_where=sa.text("told_once IS NOT NULL"),
    )
    op.create_table(
        "webhook_receiver",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("sealed_old_secret", sa.LargeBinary(), nullable=True),
        sa.Column("old_secret_until", sa.BigInteger(), nullable=True),
        sa.Column("failing_since", sa.BigInteger(), nullable=True),
        sa.Column("pause", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "pause IN ('failing', 'gone')",
            name=op.f("ck_webhook_receiver_pause_is_known"),
        ),
        sa.CheckConstraint(
            "(sealed_old_secret IS NULL) = (old_secret_until IS NULL)",
            name=op.f("ck_webhook_receiver_old_secret_ends"),
        ),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_webhook_receiver_node_id")
        ),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_webhook_receiver")),
    )
    op.create_table(
        "webhook_attempt",
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("took", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("excerpt", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "(status IS NULL) = (error <> '')",
            name=op.f("ck_webhook_attempt_answer_or_error"),
        ),
        sa.ForeignKeyConstraint(
            ["event_id"],
            ["webhook_event.id"],
            name=op.f("fk_webhook_attempt_event_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("event_id", "number", name=op.f("pk_webhook_attempt")),
        sqlite_with_rowid=False,
    )
    _refuse_changes_of_entries()


def _refuse_changes_of_entries() -> None:
    """Add triggers that forbid changing or deleting ledger entries."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER entry_no_{verb.lower()} BEFORE {verb} ON entry BEGIN "
                "SELECT RAISE(ABORT, 'entries are only ever added'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE integrity_constraint_violation "
        "USING MESSAGE = 'entries are only ever added'; END$$"
    )
    op.execute(
        "CREATE TRIGGER entry_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON entry "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )
