"""Why nodes could not be started: a sentence for owners, details for operators.

The audit log records it when a node begins to fail, and when it fails for another
reason, but not for each retry.
"""

import errno
from datetime import datetime
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rows import audit
from leyden.errors import CannotStart
from leyden.nodes.rules.nodes import Cause, Node, Trouble

_NONE: Final = Trouble(cause=Cause.UNEXPLAINED, reason="", why="")
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL: Final = "The disk of the node's machine is full. The operator must free space."
_OTHER: Final = "lnd could not start. Ask the operator: the log says why."


async def note(
    tx: Stores, before: Node, *, reason: str, why: str, now: datetime
) -> None:
    """Record why a node could not be started, unless the same is recorded already."""
    known = before.trouble or _NONE
    if (known.cause, known.reason, known.why) == (Cause.NOT_STARTED, reason, why):
        return
    await tx.audit.add(
        at=now,
        actor=audit.PLATFORM,
        action=audit.NODE_FAILED,
        subject=before.id,
        organization_id=before.organization_id,
        reason=reason,
        why=why,
    )


def reason_of(error: Exception) -> str:
    """Return why a node could not be started, for its owner."""
    if isinstance(error, CannotStart):
        return error.reason
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return _FULL
    return _OTHER
