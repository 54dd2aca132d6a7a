"""How far the logs of nodes were read."""

from leyden.lnd.tail import Place
from leyden.storage.statements import Row, Run, Value
from leyden.storage.written import log_places as sql
from leyden.values import Struct


class KeptPlace(Struct, frozen=True):
    """A place as it is kept; its edition rises with each move."""

    place: Place
    edition: int


class LogPlaces:
    """The rows of node_log_place."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def all_(self) -> dict[str, KeptPlace]:
        """Return the place of each node that has one, by the node's id."""
        return {row[0]: _kept(row) for row in await self._run(sql.ALL)}

    async def find(self, node_id: str) -> KeptPlace | None:
        """Return a node's place; None while nobody has read its log."""
        rows = await self._run(sql.GET, node_id=node_id)
        return _kept(rows[0]) if rows else None

    async def move(self, node_id: str, place: Place, *, was: int) -> bool:
        """Keep how far it is read now; False when somebody else has moved it.

        `was` is the edition of the place one has read on from, 0 where none was kept.
        """
        fields: dict[str, Value] = {
            "inode": place.inode,
            "byte": place.offset,
            "head": place.head,
            "rotated": place.rotated,
        }
        if was == 0:
            return bool(await self._run(sql.ADD, node_id=node_id, **fields))
        return bool(await self._run(sql.MOVE, of=node_id, was=was, **fields))

    async def forget(self, node_id: str) -> None:
        """Forget the place: the log is removed."""
        await self._run(sql.FORGET, node_id=node_id)


def _kept(row: Row) -> KeptPlace:
    _, inode, offset, head, rotated, edition = row
    return KeptPlace(Place(inode, offset, bytes(head), rotated), edition)
