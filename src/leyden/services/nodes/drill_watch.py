"""Reminding owners to prove that the backups of their nodes open.

The page of a node asks for it from the beginning. Its owner's systems are told once
the last drill, or else the node, is 90 days old, and once in 90 days from then on.
"""

from datetime import datetime, timedelta
from typing import Final

from leyden.domain.nodes import Node
from leyden.domain.times import is_recent
from leyden.services.nodes import node_events
from leyden.services.nodes.fleet import Fleet
from leyden.services.nodes.proofs import EVERY
from leyden.storage.stores import Stores

_LOOK_EVERY: Final = timedelta(hours=1)


class DrillWatch:
    """Looks at each node with a wallet once an hour."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._looked: dict[str, datetime] = {}

    def forget(self, node_id: str) -> None:
        """Forget a node that is gone."""
        self._looked.pop(node_id, None)

    async def look(self, node: Node) -> None:
        """Remind the owner once if a drill is due."""
        now = self._fleet.clock()
        last = self._looked.get(node.id)
        if not node.has_wallet or (
            last is not None and is_recent(last, now=now, within=_LOOK_EVERY)
        ):
            return
        if await _is_due(self._fleet.database.reader, node, now=now):
            async with self._fleet.database.transaction() as tx:
                locked = await tx.nodes.lock(node.id)
                # Asked again: its owner, or another process, may have been faster.
                if not locked.is_gone and await _is_due(tx, locked, now=now):
                    drill = await tx.node_drills.find(node.id)
                    drilled = drill.at if drill is not None else None
                    node_events.tell_drill(tx, locked, drilled=drilled, now=now)
                    await tx.node_drills.remind(node.id, now=now)
        self._looked[node.id] = now


async def _is_due(stores: Stores, node: Node, *, now: datetime) -> bool:
    drill = await stores.node_drills.find(node.id)
    reminded = await stores.node_drills.reminded(node.id)
    return all(
        now - each > EVERY
        for each in (drill.at if drill is not None else node.created, reminded)
        if each is not None
    )
