"""The last drills of owners: tests that a node's backups can be opened."""

from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.values import Struct

sql = SqlFile(__file__)


class NodeDrill(Struct, frozen=True, kw_only=True):
    """A drill, with a message that the node has signed."""

    at: datetime
    message: str
    signature: str


class NodeDrills:
    """The rows of node_drill and node_drill_reminder."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def keep(self, node_id: str, drill: NodeDrill) -> None:
        """Store a drill; it replaces the previous one."""
        await self._run(
            sql.keep,
            node_id=node_id,
            at=to_us(drill.at),
            message=drill.message,
            signature=drill.signature,
        )

    async def find(self, node_id: str) -> NodeDrill | None:
        """Return a node's last drill; None if there was none."""
        rows = await self._run(sql.find, node_id=node_id)
        if not rows:
            return None
        at, message, signature = rows[0]
        return NodeDrill(at=from_us(at), message=message, signature=signature)

    async def remind(self, node_id: str, *, now: datetime) -> None:
        """Store that the owner was reminded."""
        await self._run(sql.remind, node_id=node_id, at=to_us(now))

    async def reminded(self, node_id: str) -> datetime | None:
        """Return when the owner was last reminded; None if never."""
        rows = await self._run(sql.reminded, node_id=node_id)
        return from_us(rows[0][0]) if rows else None

    async def since(self, since: datetime) -> set[str]:
        """Return the nodes with a drill or a reminder at this time or later."""
        return {
            node_id for (node_id,) in await self._run(sql.since, since=to_us(since))
        }

    async def delete(self, node_id: str) -> None:
        """Delete the drill of a node whose backups are deleted."""
        await self._run(sql.delete, node_id=node_id)
        await self._run(sql.delete_reminder, node_id=node_id)
