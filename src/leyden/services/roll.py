"""All nodes as they are now, for what looks at each of them again and again."""

import asyncio

from leyden.domain.nodes import Node
from leyden.storage.nodes import Nodes


class Roll:
    """Remembers nodes; what did not change is not read again.

    Ten thousand take a third of a second to read, and a hundredth to see that they are
    as they were.
    """

    def __init__(self) -> None:
        self._known: dict[str, Node] = {}

    async def call(self, nodes: Nodes) -> list[Node]:
        """Give those that should be there."""
        editions = await nodes.editions()
        for node_id in self._known.keys() - editions.keys():
            self._known.pop(node_id, None)  # another may have called meanwhile
        for node_id, edition in editions.items():
            known = self._known.get(node_id)
            if known is None or known.edition != edition:
                self._known[node_id] = await nodes.get(node_id)
                await asyncio.sleep(0)  # ten thousand, the first time
        return list(self._known.values())
