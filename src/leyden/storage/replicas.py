"""The replicas that run on this database, and the oldest version that may run.

A version is identified by the newest migration that it knows (docs/decisions/0096).
"""

from datetime import datetime

from leyden.domain.times import to_us
from leyden.storage.statements import Run, SqlFile

sql = SqlFile("replicas")


class Replicas:
    """The rows of replica, and the floor below which no version may run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def enter(
        self, id_: str, *, newest: str, until: datetime, delete_before: datetime
    ) -> bool:
        """Add a replica; return False, adding none, if its version is too old.

        Those that died long ago are deleted.
        """
        [(oldest,)] = await self._run(sql.lock_floor)
        if newest < oldest:
            return False
        await self._run(sql.delete_old, before=to_us(delete_before))
        await self._run(sql.enter, id=id_, newest=newest, until=to_us(until))
        return True

    async def heartbeat(self, id_: str, *, newest: str, until: datetime) -> bool:
        """Renew a replica's heartbeat; return False if its version is too old now."""
        await self._run(sql.heartbeat, id=id_, until=to_us(until))
        return newest >= await self.floor()

    async def leave(self, id_: str) -> None:
        """Remove a replica that is ending."""
        await self._run(sql.leave, id=id_)

    async def floor(self) -> str:
        """Return the migration that a version must know to run on this schema."""
        return str((await self._run(sql.floor))[0][0])

    async def raise_floor(self, migration: str, *, now: datetime) -> bool:
        """Prevent versions that do not know this migration from running.

        Return False, changing nothing, while a replica of such a version runs.
        """
        [(oldest,)] = await self._run(sql.lock_floor)
        if oldest >= migration:
            return True
        if await self._run(sql.older, migration=migration, now=to_us(now)):
            return False
        await self._run(sql.raise_floor, oldest=migration)
        return True
