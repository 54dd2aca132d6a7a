"""How much there is of everything, for whoever runs the installation."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, func, or_, select

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
_VERSIONS = (
    select(nodes.c.version, func.count())
    .where(nodes.c.wanted != "deleted")
    .group_by(nodes.c.version)
    .order_by(nodes.c.version)
)
_AILING = (
    select(
        nodes.c.id,
        nodes.c.name,
        nodes.c.organization_id,
        nodes.c.status,
        nodes.c.version,
        nodes.c.crashes,
        nodes.c.due,
    )
    .where(
        nodes.c.wanted != "deleted",
        or_(nodes.c.status == "failed", nodes.c.crashes > 0),
    )
    .order_by(nodes.c.crashes.desc(), nodes.c.id)
    .limit(bindparam("most"))
)
_TRIED = (
    select(tasks.c.kind, tasks.c.key, tasks.c.due, tasks.c.attempts)
    .where(tasks.c.attempts > 1)
    .order_by(tasks.c.attempts.desc(), tasks.c.kind, tasks.c.key)
    .limit(bindparam("most"))
)
_FOR_EVER = (1 << 63) - 1


@dataclass(frozen=True, kw_only=True)
class Queue:
    """What is to be done of one kind."""

    kind: str
    tasks: int
    next_due: datetime
    most_attempts: int


@dataclass(frozen=True, kw_only=True)
class Ailing:
    """A node that crashes, or cannot be started."""

    id: str
    name: str
    organization_id: str
    status: str
    version: str
    crashes: int
    due: datetime


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A task that was begun more than once and is not done."""

    kind: str
    key: str
    due: datetime
    attempts: int


class Counts:
    """Sums over the rows of others."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def nodes(self) -> dict[str, int]:
        """Count the nodes by their status."""
        return dict(await self._run(_NODES))

    async def versions(self) -> dict[str, int]:
        """Count the nodes by the lnd they run."""
        return dict(await self._run(_VERSIONS))

    async def ailing(self, *, most: int) -> list[Ailing]:
        """Give the nodes that need somebody, the worst first."""
        return [
            Ailing(
                id=id_,
                name=name,
                organization_id=organization_id,
                status=status,
                version=version,
                crashes=crashes,
                due=from_us(due),
            )
            for id_, name, organization_id, status, version, crashes, due in (
                await self._run(_AILING, most=most)
            )
        ]

    async def tried(self, *, most: int) -> list[Tried]:
        """Give the tasks that do not go well, the worst first."""
        return [
            Tried(kind=kind, key=key, due=from_us(due), attempts=attempts)
            for kind, key, due, attempts in await self._run(_TRIED, most=most)
        ]

    async def orders(self) -> dict[str, int]:
        """Count the orders by their status."""
        return dict(await self._run(_ORDERS))

    async def tasks(self) -> list[Queue]:
        """Count the tasks by their kind."""
        return [
            Queue(kind=kind, tasks=count, next_due=from_us(due), most_attempts=most)
            for kind, count, due, most in await self._run(_TASKS, until=_FOR_EVER)
        ]
