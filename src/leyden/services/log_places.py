"""How far nodes' logs were read: remembered here, and kept where a kill leaves it.

What was told is kept with how far was read, in one transaction. Where there was nothing
to tell, the place is kept now and then: what is read once more after a kill is known to
hold nothing that was told.
"""

from collections.abc import Iterable
from typing import Final

from leyden.domain.nodes import Node
from leyden.errors import Stale
from leyden.lnd.tail import BEGINNING, Place
from leyden.storage.log_places import KeptPlace
from leyden.storage.nouns import Nouns
from leyden.values import Struct

# An lnd writes 1 to 3 MB a day: with ten thousand of them, a row or two each second.
_KEPT_EVERY: Final = 1 << 16
_KEPT_AT_ONCE: Final = 500  # others wait for the transaction
_FEW: Final = 50  # of which each is asked for by itself
_NEW: Final = KeptPlace(BEGINNING, 0)


class _Known(Struct):
    kept: KeptPlace
    place: Place

    @property
    def is_far(self) -> bool:
        """Whether the next program had much to read once more, or in other files."""
        kept, place = self.kept.place, self.place
        return (
            kept.inode != place.inode
            or kept.rotated != place.rotated
            or abs(place.offset - kept.offset) >= _KEPT_EVERY
        )


class LogPlaces:
    """Knows the places of the nodes that are looked at."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    async def learn(self, nouns: Nouns, nodes: Iterable[Node]) -> None:
        """Learn the places of these nodes, and forget those of all others."""
        wanted = {node.id for node in nodes}
        for node_id in self._known.keys() - wanted:
            del self._known[node_id]
        missing = wanted - self._known.keys()
        everywhere = await nouns.log_places.all_() if len(missing) > _FEW else None
        for node_id in missing:
            if everywhere is None:
                kept = await nouns.log_places.find(node_id)
            else:
                kept = everywhere.get(node_id)
            kept = kept or _NEW
            self._known[node_id] = _Known(kept, kept.place)

    def of(self, node: Node) -> Place:
        """Return the place in the log of a node that was learnt of."""
        return self._known[node.id].place

    def note(self, node: Node, place: Place) -> None:
        """Remember that there was nothing to tell up to here."""
        self._known[node.id].place = place

    async def keep(self, tx: Nouns, node: Node, place: Place) -> None:
        """Keep the place with what is told of the lines up to here.

        Stale when somebody else has read on from the same place: they have told it.
        """
        # Learnt anew unless `kept` is called: a commit may have failed, or not.
        known = self._known.pop(node.id)
        if not await tx.log_places.move(node.id, place, was=known.kept.edition):
            raise Stale(f"node {node.id}: somebody else reads its log")

    async def keep_far(self, tx: Nouns) -> None:
        """Keep the places that are far from those that were kept."""
        far = [(id_, known) for id_, known in self._known.items() if known.is_far]
        for node_id, known in far[:_KEPT_AT_ONCE]:
            edition = known.kept.edition
            if await tx.log_places.move(node_id, known.place, was=edition):
                known.kept = KeptPlace(known.place, edition + 1)
            else:
                del self._known[node_id]  # whoever has moved it has told
