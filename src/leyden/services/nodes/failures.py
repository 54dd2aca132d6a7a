"""Why nodes could not be started: a sentence for owners, details for operators.

The audit log records it when a node begins to fail, and when it fails for another
reason, but not for each retry.
"""

import errno
from datetime import datetime
from typing import Final

from leyden.domain.nodes import Node, Status
from leyden.errors import CannotStart
from leyden.storage.stores import Stores
from leyden.values import Struct

FAILED: Final = "node failed"
PLATFORM: Final = "platform"  # who acts where nobody asked
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL: Final = "The disk of the node's machine is full. The operator must free space."
_OTHER: Final = "lnd could not start. Ask the operator: the log says why."


class Failure(Struct, frozen=True, kw_only=True):
    """Why a node could not be started."""

    reason: str  # for its owner
    why: str  # for the operator: with paths, and what the system said


async def note(tx: Stores, before: Node, error: Exception, *, now: datetime) -> None:
    """Record why a node could not be started, unless the same is recorded already."""
    reason, why = _reason(error), str(error)
    if before.status is Status.FAILED:
        known = await find(tx, before.organization_id, before.id)
        if known == Failure(reason=reason, why=why):
            return
    await tx.audit.add(
        at=now,
        actor=PLATFORM,
        action=FAILED,
        subject=before.id,
        organization_id=before.organization_id,
        reason=reason,
        why=why,
    )


async def find(reader: Stores, organization_id: str, node_id: str) -> Failure | None:
    """Return why a failed node could not be started; None if that is not recorded."""
    line = await reader.audit.node_failure(organization_id, node_id)
    if line is None:
        return None
    detail = line.detail
    return Failure(reason=str(detail["reason"]), why=str(detail["why"]))


def _reason(error: Exception) -> str:
    if isinstance(error, CannotStart):
        return error.reason
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return _FULL
    return _OTHER
