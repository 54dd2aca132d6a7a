"""Raised alarms, stored so that each is announced once when it begins and ends."""

from datetime import datetime

from leyden.domain.times import to_us
from leyden.storage.statements import Run, SqlFile

sql = SqlFile("alarms")


class Alarms:
    """The rows of alarm."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def list_(self) -> list[str]:
        """Return the kinds that are raised."""
        return [kind for (kind,) in await self._run(sql.list)]

    async def add(self, kind: str, *, now: datetime) -> bool:
        """Store a raised alarm; return False if it is already raised."""
        return bool(await self._run(sql.add, kind=kind, since=to_us(now)))

    async def remove(self, kind: str) -> bool:
        """Clear an alarm; return False if it is not raised."""
        return bool(await self._run(sql.remove, kind=kind))
