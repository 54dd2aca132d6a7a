"""What nodes took of late: a short memory, for the curves on a node's page.

Kept in the process that runs the nodes, and lost with it. Who wants to keep figures for
longer reads /metrics.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from leyden.services.due import Due
from leyden.services.fleet import Fleet
from leyden.values import Struct

SAMPLING: Final = "samples"
EVERY: Final = timedelta(seconds=30)
KEPT: Final = 120  # an hour
# Nobody else waits for longer than these few take: 30 µs each.
_AT_A_TIME: Final = 25


class Sample(Struct, frozen=True):
    """What a node took at one moment."""

    at: datetime
    memory: int
    cpu_s: float
    bytes_in: int
    bytes_out: int
    height: int  # 0 is not known


class Samples:
    """The last hour of each node that runs."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[Sample]] = {}

    def of(self, node_id: str) -> Sequence[Sample]:
        """Give what a node took, oldest first."""
        return tuple(self._kept.get(node_id, ()))

    async def take(self, fleet: Fleet, work: Due) -> None:
        """Look once at every node that runs, and come back later."""
        now = fleet.clock()
        nodes = [
            node
            for node in await fleet.roll.call(fleet.database.reader.nodes)
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
            await work.again(tx, due=now + EVERY)
