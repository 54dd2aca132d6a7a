"""Watching nodes' backups: that lnd keeps one of its channels, and that all open.

lnd writes the file as its wallet opens, and at each change of a channel. A running node
that has none for an hour cannot write it, or it was deleted: nobody would notice before
the day on which it is needed.

The page of a node asks for a drill from the beginning. An event reminds its owner's
systems once the last drill, or else the node, is 90 days old, and every 90 days after.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.times import is_recent
from leyden.errors import NotFound
from leyden.nodes import node_events
from leyden.nodes.fleet import Fleet
from leyden.nodes.proofs import DRILL_INTERVAL
from leyden.nodes.rules.nodes import Node, NodeStatus

_PATIENCE: Final = timedelta(hours=1)
_LOOK_EVERY: Final = timedelta(hours=1)


class BackupWatch:
    """Looks at each running node once an hour."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._looked: dict[str, tuple[str, datetime]] = {}

    def forget(self, node_id: str) -> None:
        """Forget a node that is gone."""
        self._looked.pop(node_id, None)

    async def check(self, node: Node) -> None:
        """Log once that there has been no file for an hour."""
        now = self._fleet.clock()
        if node.status is not NodeStatus.RUNNING:
            self.forget(node.id)
            return
        process, last = self._looked.setdefault(node.id, (node.process, now))
        if process != node.process:
            self._looked[node.id] = (node.process, now)
            return
        if is_recent(last, now=now, within=_PATIENCE):
            return
        self._looked[node.id] = (node.process, now)
        if not await self._fleet.node_files.channel_backup(node):
            await self._tell(node, now=now)

    async def _tell(self, node: Node, *, now: datetime) -> None:
        async with self._fleet.database.transaction() as tx:
            locked = await tx.nodes.lock(node.id)
            if locked.is_gone or locked.process != node.process:
                return
            try:
                taken = (await tx.backups.latest_channels(node.id)).taken
            except NotFound:
                taken = None
            await node_events.record_backup(tx, locked, taken=taken, now=now)


class DrillWatch:
    """Looks at the nodes with a seed once an hour."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._looked: datetime | None = None

    async def check(self, nodes: Sequence[Node]) -> None:
        """Remind the owner of each node once if a drill is due."""
        now = self._fleet.clock()
        if self._looked is not None and is_recent(
            self._looked, now=now, within=_LOOK_EVERY
        ):
            return
        old = [
            node
            for node in nodes
            if node.needs_drills and now - node.created > DRILL_INTERVAL
        ]
        drills = self._fleet.database.reader.node_drills
        # For all at once: one by one, ten thousand take seconds.
        fresh = await drills.since(now - DRILL_INTERVAL) if old else set()
        for node in old:
            if node.id not in fresh:
                await self._remind(node, now=now)
        self._looked = now

    async def _remind(self, node: Node, *, now: datetime) -> None:
        async with self._fleet.database.transaction() as tx:
            locked = await tx.nodes.lock(node.id)
            # Its owner, or another process, may have been faster.
            if not locked.is_gone and await _is_due(tx, locked, now=now):
                drill = await tx.node_drills.find(node.id)
                drilled = drill.at if drill is not None else None
                node_events.record_drill(tx, locked, drilled=drilled, now=now)
                await tx.node_drills.remind(node.id, now=now)


async def _is_due(stores: Stores, node: Node, *, now: datetime) -> bool:
    drill = await stores.node_drills.find(node.id)
    reminded = await stores.node_drills.reminded(node.id)
    return all(
        now - each > DRILL_INTERVAL
        for each in (drill.at if drill is not None else node.created, reminded)
        if each is not None
    )
