"""Handling of what an lnd leaves in its home: log lines, plaintext macaroons.

Housekeeping reads the homes of this machine; in a cluster the companions read them, and
report.
"""

import logging
from datetime import datetime
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.times import is_recent
from leyden.nodes import node_events
from leyden.nodes.lnd.log import QUIET
from leyden.nodes.rules.nodes import Node

MACAROONS_REMOVED: Final = "macaroons removed"

log = logging.getLogger(__name__)


async def announce_out_of_order(
    tx: Stores, node: Node, line: str, *, now: datetime
) -> None:
    """Announce that lnd's blocks come out of order, unless that was a moment ago.

    The reader of the log may have been restarted amid a burst of lines.
    """
    log.warning("node %s: blocks arrive out of order", node.id)
    event = node_events.of_blocks(node, line)
    last = await tx.events.logged_at(node.organization_id, event.once)
    if last is None or not is_recent(last, now=now, within=QUIET):
        tx.events.add(event, at=now)
        await node_events.announce(tx, node, [event], now=now)


async def record_removed(tx: Stores, node: Node, *, number: int, now: datetime) -> None:
    """Record in the audit log that plaintext macaroons were found and deleted."""
    log.warning("node %s: removed plain macaroons", node.id, extra={"number": number})
    await tx.audit.add(
        at=now,
        actor="platform",
        action=MACAROONS_REMOVED,
        subject=node.id,
        organization_id=node.organization_id,
        number=number,
    )
