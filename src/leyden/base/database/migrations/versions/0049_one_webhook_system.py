"""A node's webhook is an endpoint, like a subscription: its rows move there.

The tables that they leave stay for a release: its version runs beside this one.
"""

import sqlalchemy as sa
from alembic import op

revision = "0049_one_webhook_system"
down_revision = "0048_lightning_only"

# It has the name that it had, as it only allows more.
_FORMATS = "'standard', 'slack', 'discord', 'telegram', 'ntfy', 'email', 'node'"
_PENDING = sa.text("state = 'pending'")

# On PostgreSQL, in the order in which running processes lock: tasks before their events,
# these before endpoints.
_TASKS = "UPDATE task SET kind = 'node webhooks' WHERE kind = 'webhooks'"
_LOCK = "LOCK TABLE webhook_event, webhook_attempt, webhook_receiver IN EXCLUSIVE MODE"
_MOVES = (
    """
    INSERT INTO subscription (
        id, organization_id, url, description, types, created, sealed_secret,
        sealed_old_secret, old_secret_until, failing_since, pause, stopped, position,
        attempts, due, format, sealed_url
    )
    SELECT
        node.id, '', '', '', '', node.created, NULL, webhook_receiver.sealed_old_secret,
        webhook_receiver.old_secret_until, webhook_receiver.failing_since,
        webhook_receiver.pause, 0, 0, 0, node.created, 'node', NULL
    FROM node
    LEFT JOIN webhook_receiver ON webhook_receiver.node_id = node.id
    WHERE webhook_receiver.node_id IS NOT NULL
        OR EXISTS (SELECT 1 FROM webhook_event WHERE node_id = node.id)
    """,
    """
    INSERT INTO subscription_delivery (
        subscription_id, event_id, number, type, body, created, state, due, attempts,
        overtakable, once
    )
    SELECT
        node_id, id, CASE WHEN test = 1 THEN 0 ELSE -1 END, type, body, created, state,
        due, attempts, overtakable, node_id || ' ' || told_once
    FROM webhook_event
    ORDER BY position
    """,
    """
    INSERT INTO subscription_attempt (
        delivery, number, at, took, status, excerpt, error
    )
    SELECT
        subscription_delivery.position, webhook_attempt.number, webhook_attempt.at,
        webhook_attempt.took, webhook_attempt.status, webhook_attempt.excerpt,
        webhook_attempt.error
    FROM webhook_attempt
    JOIN webhook_event ON webhook_event.id = webhook_attempt.event_id
    JOIN subscription_delivery
        ON subscription_delivery.subscription_id = webhook_event.node_id
        AND subscription_delivery.event_id = webhook_event.id
    """,
    "DELETE FROM webhook_attempt",
    # An update stays, so that the last release does not announce it again.
    "UPDATE webhook_event SET state = 'superseded' WHERE told_once IS NOT NULL",
    "DELETE FROM webhook_event WHERE told_once IS NULL",
    "DELETE FROM webhook_receiver",
)


def upgrade() -> None:
    op.execute(_TASKS)
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_LOCK)
    overtakable = sa.Column(
        "overtakable", sa.Integer(), nullable=False, server_default="0"
    )
    op.add_column("subscription_delivery", overtakable)
    op.add_column("subscription_delivery", sa.Column("once", sa.Text()))
    op.create_index(
        "ix_subscription_delivery_pending",
        "subscription_delivery",
        ["subscription_id", "position"],
        sqlite_where=_PENDING,
        postgresql_where=_PENDING,
    )
    # SQLite copies the table. Foreign keys are not enforced meanwhile, so nothing that
    # points to it is deleted with the old one.
    with op.batch_alter_table("subscription") as batch:
        batch.alter_column(
            "sealed_secret", existing_type=sa.LargeBinary(), nullable=True
        )
        batch.drop_constraint(op.f("ck_subscription_format_is_known"), type_="check")
        batch.create_check_constraint(
            op.f("ck_subscription_format_is_known"), f"format IN ({_FORMATS})"
        )
    for statement in _MOVES:
        op.execute(statement)
