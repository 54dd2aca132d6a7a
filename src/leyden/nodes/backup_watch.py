"""Watching that lnd keeps a backup of its channels, which the platform copies.

lnd writes the file as its wallet opens, and at each change of a channel. A running node
that has none for an hour cannot write it, or it was deleted: nobody would notice before
the day on which it is needed.
"""

from datetime import datetime, timedelta
from typing import Final

from leyden.base.rules.times import is_recent
from leyden.errors import NotFound
from leyden.nodes import node_events
from leyden.nodes.fleet import Fleet
from leyden.nodes.rules.nodes import Node, Status

_PATIENCE: Final = timedelta(hours=1)


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
        if node.status is not Status.RUNNING:
            self.forget(node.id)
            return
        process, last = self._looked.setdefault(node.id, (node.process, now))
        if process != node.process:
            self._looked[node.id] = (node.process, now)
            return
        if is_recent(last, now=now, within=_PATIENCE):
            return
        self._looked[node.id] = (node.process, now)
        if not await self._fleet.homes.channel_backup(node):
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
