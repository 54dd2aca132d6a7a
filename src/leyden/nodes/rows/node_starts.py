"""The number of each node's last start, and the folder it used."""

from leyden.base.database.statements import Run, SqlFile
from leyden.nodes.rules.starts import NEVER, Start

sql = SqlFile(__file__)


class NodeStarts:
    """The rows of node_start."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def get(self, node_id: str) -> Start:
        """Return a node's last start."""
        rows = await self._run(sql.get, node_id=node_id)
        return Start(*rows[0]) if rows else NEVER

    async def save(self, node_id: str, start: Start) -> None:
        """Store a node's last start."""
        await self._run(sql.save, node_id=node_id, number=start.number, copy=start.copy)

    async def accept(self, node_id: str) -> bool:
        """Accept any copy of the last folder; return False if there was no start."""
        return bool(await self._run(sql.accept, node_id=node_id))

    async def accept_all(self) -> None:
        """Accept any copy of each node's last folder."""
        await self._run(sql.accept_all)

    async def delete(self, node_id: str) -> None:
        """Delete the count of a node whose folder is removed."""
        await self._run(sql.delete, node_id=node_id)
