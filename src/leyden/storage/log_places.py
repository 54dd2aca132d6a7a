"""The positions up to which nodes' logs were read."""

from collections.abc import Mapping

from leyden.lnd.tail import Place
from leyden.storage.statements import Row, Run, SqlFile, Value
from leyden.values import Struct

sql = SqlFile("log_places")


class KeptPlace(Struct, frozen=True):
    """A stored log position; its edition rises with each change."""

    place: Place
    edition: int


class LogPlaces:
    """The rows of node_log_place."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def all_(self) -> dict[str, KeptPlace]:
        """Return all stored log positions by node id."""
        return {row[0]: place_of(row) for row in await self._run(sql.all)}

    async def find(self, node_id: str) -> KeptPlace | None:
        """Return a node's log position; None if its log was never read."""
        rows = await self._run(sql.get, node_id=node_id)
        return place_of(rows[0]) if rows else None

    async def move(self, node_id: str, place: Place, *, was: int) -> bool:
        """Store a new position; return False if another process stored one first.

        `was` is the edition of the position from which reading continued; 0 if
        none was stored.
        """
        if was == 0:
            return bool(await self._run(sql.add, **row_of(node_id, place)))
        return bool(await self._run(sql.move, **row_of(node_id, place), was=was))

    async def delete(self, node_id: str) -> None:
        """Delete the position of a log that is removed."""
        await self._run(sql.delete, node_id=node_id)


def row_of(node_id: str, place: Place) -> Mapping[str, Value]:
    """Convert a node's position to a row."""
    return {
        "node_id": node_id,
        "inode": place.inode,
        "byte": place.offset,
        "head": place.head,
        "rotated": place.rotated,
    }


def place_of(row: Row) -> KeptPlace:
    """Build the position from a row."""
    _, inode, offset, head, rotated, edition = row
    return KeptPlace(Place(inode, offset, bytes(head), rotated), edition)
