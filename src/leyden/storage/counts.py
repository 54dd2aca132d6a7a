"""How much there is of everything, for whoever runs the installation."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, func, select

from leyden.domain.times import from_us
from leyden.storage.statements import Run
from leyden.storage.tables import tasks
from leyden.storage.tables_money import orders
from leyden.storage.tables_nodes import nodes

_NODES = (
    select(nodes.c.status, func.count())
    .where(nodes.c.wanted != "deleted")
    .group_by(nodes.c.status)
    .order_by(nodes.c.status)
)
_ORDERS = (
    select(orders.c.status, func.count())
    .group_by(orders.c.status)
    .order_by(orders.c.status)
)
_TASKS = (
    select(
        tasks.c.kind, func.count(), func.min(tasks.c.due), func.max(tasks.c.attempts)
    )
    .where(tasks.c.due <= bindparam("until"))
    .group_by(tasks.c.kind)
    .order_by(tasks.c.kind)
)
_FOR_EVER = (1 << 63) - 1


@dataclass(frozen=True, kw_only=True)
class Queue:
    """What is to be done of one kind."""

    kind: str
    tasks: int
    next_due: datetime
    most_attempts: int


class Counts:
    """Sums over the rows of others."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def nodes(self) -> dict[str, int]:
        """Count the nodes by their status."""
        return dict(await self._run(_NODES))

    async def orders(self) -> dict[str, int]:
        """Count the orders by their status."""
        return dict(await self._run(_ORDERS))

    async def tasks(self) -> list[Queue]:
        """Count the tasks by their kind."""
        return [
            Queue(kind=kind, tasks=count, next_due=from_us(due), most_attempts=most)
            for kind, count, due, most in await self._run(_TASKS, until=_FOR_EVER)
        ]
