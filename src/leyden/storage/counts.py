"""How much there is of everything, for whoever runs the installation."""

from datetime import datetime

from leyden.domain.times import from_us
from leyden.storage.statements import Run
from leyden.storage.written import counts as sql
from leyden.values import Struct

_FOR_EVER = (1 << 63) - 1


class Queue(Struct, frozen=True, kw_only=True):
    """What is to be done of one kind."""

    kind: str
    tasks: int
    next_due: datetime
    most_attempts: int


class Ailing(Struct, frozen=True, kw_only=True):
    """A node that crashes, or cannot be started."""

    id: str
    name: str
    organization_id: str
    status: str
    version: str
    crashes: int
    due: datetime


class Tried(Struct, frozen=True, kw_only=True):
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
        return dict(await self._run(sql.NODES))

    async def versions(self) -> dict[str, int]:
        """Count the nodes by the lnd they run."""
        return dict(await self._run(sql.VERSIONS))

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
                await self._run(sql.AILING, most=most)
            )
        ]

    async def tried(self, *, most: int) -> list[Tried]:
        """Give the tasks that do not go well, the worst first."""
        return [
            Tried(kind=kind, key=key, due=from_us(due), attempts=attempts)
            for kind, key, due, attempts in await self._run(sql.TRIED, most=most)
        ]

    async def orders(self) -> dict[str, int]:
        """Count the orders by their status."""
        return dict(await self._run(sql.ORDERS))

    async def tasks(self) -> list[Queue]:
        """Count the tasks by their kind."""
        return [
            Queue(kind=kind, tasks=count, next_due=from_us(due), most_attempts=most)
            for kind, count, due, most in await self._run(sql.TASKS, until=_FOR_EVER)
        ]
