"""The positions up to which nodes' logs were read."""

from collections.abc import Mapping

from leyden.base.database.statements import Row, Run, SqlFile, Value
from leyden.nodes.rules.log_positions import LogPosition
from leyden.values import Struct

sql = SqlFile(__file__)


class StoredPosition(Struct, frozen=True):
    """A stored log position; its edition rises with each change."""

    position: LogPosition
    edition: int


class LogPositionRows:
    """The rows of node_log_place."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def all_(self) -> dict[str, StoredPosition]:
        """Return all stored log positions by node id."""
        return {row[0]: position_of(row) for row in await self._run(sql.all)}

    async def find(self, node_id: str) -> StoredPosition | None:
        """Return a node's log position; None if its log was never read."""
        rows = await self._run(sql.get, node_id=node_id)
        return position_of(rows[0]) if rows else None

    async def move(self, node_id: str, position: LogPosition, *, was: int) -> bool:
        """Store a new position; return False if another process stored one first.

        `was` is the edition of the position from which reading continued; 0 if
        none was stored.
        """
        if was == 0:
            return bool(await self._run(sql.add, **row_of(node_id, position)))
        return bool(await self._run(sql.move, **row_of(node_id, position), was=was))

    async def delete(self, node_id: str) -> None:
        """Delete the position of a log that is removed."""
        await self._run(sql.delete, node_id=node_id)


def row_of(node_id: str, position: LogPosition) -> Mapping[str, Value]:
    """Convert a node's position to a row."""
    return {
        "node_id": node_id,
        "inode": position.inode,
        "byte": position.offset,
        "head": position.head,
        "rotated": position.rotated,
    }


def position_of(row: Row) -> StoredPosition:
    """Build the position from a row."""
    _, inode, offset, head, rotated, edition = row
    return StoredPosition(LogPosition(inode, offset, bytes(head), rotated), edition)
