"""The home that local nodes belong to, and the processes that use it."""

from collections.abc import Sequence
from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.values import Struct

sql = SqlFile(__file__)


class Home(Struct, frozen=True, kw_only=True):
    """The home stored in the database."""

    identity: str
    authority: str
    place: str
    host: str
    cluster: str = ""  # the mark in its namespace of a cluster


class Process(Struct, frozen=True, kw_only=True):
    """A process that uses the home, or used it when it died."""

    id: str
    session: str
    host: str
    pid: int
    beat: int
    until: datetime


class HomeRows:
    """The rows of home and process."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self) -> Home | None:
        """Return the home, or None if none is stored yet."""
        rows = await self._run(sql.find)
        return _home(rows[0]) if rows else None

    async def lock(self) -> Home | None:
        """Return the home, and lock it until the transaction ends."""
        rows = await self._run(sql.lock)
        return _home(rows[0]) if rows else None

    async def add(self, home: Home) -> None:
        """Store the first home; no-op if there is one."""
        await self._run(
            sql.add,
            identity=home.identity,
            authority=home.authority,
            place=home.place,
            host=home.host,
        )

    async def name_cluster(self, installation: str) -> None:
        """Store the mark in the cluster's namespace; no-op if one is stored."""
        await self._run(sql.name_cluster, cluster=installation)

    async def take(self, home: Home, *, kinds: Sequence[str]) -> None:
        """Set the home; end all claims on nodes' tasks, and delete all processes."""
        await self._run(
            sql.take,
            identity=home.identity,
            authority=home.authority,
            place=home.place,
            host=home.host,
        )
        await self._run(sql.end_claims, kinds=tuple(kinds))
        await self._run(sql.delete_all)

    async def processes(self) -> list[Process]:
        """List the processes that use the home, or died while using it."""
        return [
            Process(
                id=id_,
                session=session,
                host=host,
                pid=pid,
                beat=beat,
                until=from_us(until),
            )
            for id_, session, host, pid, beat, until in await self._run(sql.processes)
        ]

    async def enter(self, process: Process, *, delete_before: datetime) -> None:
        """Add a process, and delete those that died long ago."""
        await self._run(sql.delete_old, before=to_us(delete_before))
        await self._run(
            sql.enter,
            id=process.id,
            session=process.session,
            host=process.host,
            pid=process.pid,
            until=to_us(process.until),
        )

    async def heartbeat(self, process_id: str, *, until: datetime) -> bool:
        """Renew a process's heartbeat; return False if it was removed."""
        return bool(await self._run(sql.heartbeat, id=process_id, until=to_us(until)))

    async def leave(self, process_id: str) -> None:
        """Remove a process that is ending."""
        await self._run(sql.leave, id=process_id)

    async def delete_silent(self, process: Process) -> None:
        """Remove a process that has died, unless it sent a heartbeat since."""
        await self._run(sql.delete_silent, id=process.id, beat=process.beat)


def _home(row: Sequence[str]) -> Home:
    identity, authority, place, host, cluster = row
    return Home(
        identity=identity, authority=authority, place=place, host=host, cluster=cluster
    )
