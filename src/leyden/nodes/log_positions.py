"""How far nodes' logs were read: kept in memory, and in the database.

An event and the position up to which the log was read are stored in one
transaction. Without events the position is stored now and then: the lines
that are read again after a kill are known to hold no event.
"""

from collections.abc import Iterable
from typing import Final

from leyden.base.database.stores import Stores
from leyden.errors import Stale
from leyden.nodes.rows.log_positions import StoredPosition
from leyden.nodes.rules.log_positions import BEGINNING, LogPosition
from leyden.nodes.rules.nodes import Node
from leyden.values import Struct

# An lnd writes 1 to 3 MB a day: with ten thousand of them, a row or two each second.
_KEPT_EVERY: Final = 1 << 16
_KEPT_AT_ONCE: Final = 500  # others wait for the transaction
_FEW: Final = 50  # up to here each is read by itself
_NEW: Final = StoredPosition(BEGINNING, 0)


class _Known(Struct):
    stored: StoredPosition
    position: LogPosition

    @property
    def is_far(self) -> bool:
        """Whether a restart would reread much, or look in other files."""
        stored, position = self.stored.position, self.position
        return (
            stored.inode != position.inode
            or stored.rotated != position.rotated
            or abs(position.offset - stored.offset) >= _KEPT_EVERY
        )


class LogPositions:
    """The log positions of running nodes."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    async def load(self, stores: Stores, nodes: Iterable[Node]) -> None:
        """Load the positions of these nodes, and forget those of all others."""
        wanted = {node.id for node in nodes}
        for node_id in self._known.keys() - wanted:
            del self._known[node_id]
        missing = wanted - self._known.keys()
        everywhere = await stores.log_positions.all_() if len(missing) > _FEW else None
        for node_id in missing:
            if everywhere is None:
                stored = await stores.log_positions.find(node_id)
            else:
                stored = everywhere.get(node_id)
            stored = stored or _NEW
            self._known[node_id] = _Known(stored, stored.position)

    def of(self, node: Node) -> LogPosition:
        """Return the log position of a node whose position is loaded."""
        return self._known[node.id].position

    def note(self, node: Node, position: LogPosition) -> None:
        """Set the position in memory: nothing to announce up to here."""
        self._known[node.id].position = position

    async def keep(self, tx: Stores, node: Node, position: LogPosition) -> None:
        """Store the position with the events announced up to here.

        Raise Stale if another process read on from the same position: that
        process has announced the events.
        """
        # Forgotten, so that the next look loads it: this commit may fail.
        known = self._known.pop(node.id)
        if not await tx.log_positions.move(node.id, position, was=known.stored.edition):
            raise Stale(f"node {node.id}: somebody else reads its log")

    async def flush(self, tx: Stores) -> None:
        """Store the positions that are far from the stored ones."""
        far = [(id_, known) for id_, known in self._known.items() if known.is_far]
        for node_id, known in far[:_KEPT_AT_ONCE]:
            edition = known.stored.edition
            if await tx.log_positions.move(node_id, known.position, was=edition):
                known.stored = StoredPosition(known.position, edition + 1)
            else:
                del self._known[
                    node_id
                ]  # another process has announced what is up to there
