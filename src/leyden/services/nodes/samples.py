"""Resource usage of nodes in the last hour, for a node's page.

The samples are in the memory of the process that runs the nodes, and lost
with it. For longer retention, scrape /metrics.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from leyden.services.nodes.fleet import Fleet
from leyden.services.shared.steps import ClaimedTask
from leyden.values import Struct

SAMPLING: Final = "samples"
EVERY: Final = timedelta(seconds=30)
KEPT: Final = 120  # an hour
# Nobody else waits for longer than these few take: 30 µs each.
_AT_A_TIME: Final = 25


class Sample(Struct, frozen=True):
    """A node's resource usage at one moment."""

    at: datetime
    memory: int
    cpu_s: float
    bytes_in: int
    bytes_out: int
    height: int  # 0 is not known


class Samples:
    """The last hour of samples of each running node."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[Sample]] = {}

    def of(self, node_id: str) -> Sequence[Sample]:
        """Return a node's samples, oldest first."""
        return tuple(self._kept.get(node_id, ()))

    async def take(self, fleet: Fleet, work: ClaimedTask) -> None:
        """Sample every running node once, and schedule the next time."""
        now = fleet.clock()
        nodes = [
            node
            for node in await fleet.node_cache.nodes(fleet.database.reader.nodes)
            if node.has_process
        ]
        traffic = await fleet.gateway.traffic() if nodes else {}
        kept = {}
        for number, node in enumerate(nodes, start=1):
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
            usage = await fleet.homes.usage(node, disk=False)
            passed = traffic.get(node.id)
            kept[node.id] = self._kept.get(node.id, deque(maxlen=KEPT))
            kept[node.id].append(
                Sample(
                    at=now,
                    memory=usage.memory,
                    cpu_s=usage.cpu_s,
                    bytes_in=passed.bytes_in if passed else 0,
                    bytes_out=passed.bytes_out if passed else 0,
                    height=usage.height,
                )
            )
        self._kept = kept
        async with work.transaction() as tx:
            await work.reschedule(tx, due=now + EVERY)
