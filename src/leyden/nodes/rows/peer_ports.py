"""The ports at which peers reach nodes; a deleted node's port stays reserved."""

from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import to_us
from leyden.errors import Stale

sql = SqlFile(__file__)


class PeerPortRows:
    """The peer ports in the rows of node."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def is_free(self, port: int) -> bool:
        """Return whether no node has this peer port, in use or released."""
        return not await self._run(sql.find, port=port)

    async def all_(self) -> set[int]:
        """Return all peer ports that nodes have, in use or released."""
        return {port for (port,) in await self._run(sql.all_)}

    async def count(self, *, since: datetime) -> int:
        """Count the peer ports in use, and those released since then."""
        rows = await self._run(sql.count, since=to_us(since))
        return int(rows[0][0])

    async def of_deleted(self, organization_id: str) -> list[int]:
        """Return the peer ports of an organization's deleted nodes, oldest first."""
        rows = await self._run(sql.of_deleted, organization_id=organization_id)
        return [port for (port,) in rows]

    async def released(self, *, until: datetime) -> list[int]:
        """Return the peer ports that were released until then, oldest first."""
        rows = await self._run(sql.released, until=to_us(until))
        return [port for (port,) in rows]

    async def take_over(
        self, port: int, organization_id: str, *, until: datetime
    ) -> None:
        """Take a released port from the node that had it; raise Stale if in use."""
        rows = await self._run(
            sql.take_over,
            port=port,
            organization_id=organization_id,
            until=to_us(until),
        )
        if not rows:
            raise Stale(f"peer port {port} is in use")
