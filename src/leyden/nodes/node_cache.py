"""The node cache: all nodes, for code that reads them repeatedly."""

import asyncio

from leyden.nodes.rows.nodes import NodeRows
from leyden.nodes.rules.nodes import Node


class NodeCache:
    """A cache of nodes; unchanged nodes are not read again.

    Reading ten thousand nodes takes a third of a second; finding that none
    has changed takes a hundredth.
    """

    def __init__(self) -> None:
        self._known: dict[str, Node] = {}

    async def nodes(self, nodes: NodeRows) -> list[Node]:
        """Return all nodes, reading those that changed."""
        editions = await nodes.editions()
        for node_id in self._known.keys() - editions.keys():
            self._known.pop(node_id, None)  # another may have called meanwhile
        for node_id, edition in editions.items():
            known = self._known.get(node_id)
            if known is None or known.edition != edition:
                self._known[node_id] = await nodes.get(node_id)
                await asyncio.sleep(0)  # ten thousand, the first time
        return list(self._known.values())
