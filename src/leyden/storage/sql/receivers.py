"""What is asked of the database about receivers of webhooks."""

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables_nodes import nodes, outfits
from leyden.storage.tables_webhooks import receivers

# One look for all that a delivery takes; most receivers have no row of their own.
GET = (
    select(
        nodes.c.organization_id,
        nodes.c.api_endpoint,
        nodes.c.settings,
        outfits.c.webhook_secret,
        receivers.c.sealed_old_secret,
        receivers.c.old_secret_until,
        receivers.c.failing_since,
        receivers.c.pause,
    )
    .select_from(nodes)
    .join(outfits, outfits.c.node_id == nodes.c.id)
    .outerjoin(receivers, receivers.c.node_id == nodes.c.id)
    .where(nodes.c.id == bindparam("node_id"))
)
_health = insert_once(receivers).values(
    node_id=bindparam("node_id"),
    failing_since=bindparam("failing_since"),
    pause=bindparam("pause"),
)
SET_HEALTH = _health.on_conflict_do_update(
    index_elements=["node_id"],
    set_={
        "failing_since": _health.excluded.failing_since,
        "pause": _health.excluded.pause,
    },
)
_old = insert_once(receivers).values(
    node_id=bindparam("node_id"),
    sealed_old_secret=bindparam("sealed"),
    old_secret_until=bindparam("until"),
)
KEEP_OLD_SECRET = _old.on_conflict_do_update(
    index_elements=["node_id"],
    set_={
        "sealed_old_secret": _old.excluded.sealed_old_secret,
        "old_secret_until": _old.excluded.old_secret_until,
    },
)
FORGET = delete(receivers).where(receivers.c.node_id == bindparam("node_id"))
