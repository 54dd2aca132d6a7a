"""Counts and lists of nodes, orders and tasks, for the operator."""

from datetime import datetime

from leyden.base.database.statements import AFTER_ALL, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.nodes.rows.node_rows import trouble_of, unknown_of
from leyden.nodes.rules.nodes import Trouble, Unknown
from leyden.nodes.rules.observations import LONG_LIFE
from leyden.values import Struct

sql = SqlFile(__file__)


class QueueCount(Struct, frozen=True, kw_only=True):
    """The tasks of one kind that are due or scheduled."""

    kind: str
    tasks: int
    next_due: datetime
    most_attempts: int


class ListedNode(Struct, frozen=True, kw_only=True):
    """A node of any organization."""

    id: str
    name: str
    organization_id: str
    status: str
    version: str
    runtime: str
    created: datetime


class FailingNode(Struct, frozen=True, kw_only=True):
    """A node that crashes, or cannot be started or observed."""

    id: str
    name: str
    organization_id: str
    status: str
    version: str
    crashes: int
    due: datetime
    trouble: Trouble | None
    unknown: Unknown | None


class FailingTask(Struct, frozen=True, kw_only=True):
    """A task that was started more than once and is not completed."""

    kind: str
    key: str
    due: datetime
    attempts: int


class Counts:
    """Counts over other tables."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def nodes(self) -> dict[str, int]:
        """Count the nodes by status."""
        return dict(await self._run(sql.nodes))

    async def versions(self) -> dict[str, int]:
        """Count the nodes by lnd version."""
        return dict(await self._run(sql.versions))

    async def list_nodes(
        self,
        *,
        organization_id: str = "",
        status: str = "",
        runtime: str = "",
        limit: int,
    ) -> list[ListedNode]:
        """Return the newest nodes; an empty filter matches every node."""
        rows = await self._run(
            sql.list_nodes,
            organization_id=organization_id,
            status=status,
            runtime=runtime,
            limit=limit,
        )
        return [
            ListedNode(
                id=id_,
                name=name,
                organization_id=organization_id,
                status=status,
                version=version,
                runtime=runtime,
                created=from_us(created),
            )
            for id_, name, organization_id, status, version, runtime, created in rows
        ]

    async def ailing(self, *, limit: int, now: datetime) -> list[FailingNode]:
        """Return the nodes that need attention, the worst first."""
        return [
            FailingNode(
                id=id_,
                name=name,
                organization_id=organization_id,
                status=status,
                version=version,
                crashes=crashes,
                due=from_us(due),
                trouble=trouble_of(trouble),
                unknown=unknown_of(unknown),
            )
            for (
                id_,
                name,
                organization_id,
                status,
                version,
                crashes,
                due,
                trouble,
                unknown,
            ) in await self._run(
                sql.ailing, limit=limit, healthy_since=to_us(now - LONG_LIFE)
            )
        ]

    async def tried(self, *, limit: int) -> list[FailingTask]:
        """Return the failing tasks, the worst first."""
        return [
            FailingTask(kind=kind, key=key, due=from_us(due), attempts=attempts)
            for kind, key, due, attempts in await self._run(sql.tried, limit=limit)
        ]

    async def orders(self) -> dict[str, int]:
        """Count the orders by status."""
        return dict(await self._run(sql.orders))

    async def tasks(self) -> list[QueueCount]:
        """Count the tasks by kind."""
        return [
            QueueCount(
                kind=kind, tasks=count, next_due=from_us(due), most_attempts=limit
            )
            for kind, count, due, limit in await self._run(sql.tasks, until=AFTER_ALL)
        ]
