"""The home that local nodes belong to, and the processes that run on it."""

import json
from collections.abc import Sequence
from datetime import datetime

from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Run
from leyden.storage.written import homes as sql
from leyden.values import Struct


class Hold(Struct, frozen=True, kw_only=True):
    """By what right a process takes tasks of nodes: who it is, and on which home."""

    holder: str
    identity: str = ""
    place: str = ""


class Home(Struct, frozen=True, kw_only=True):
    """The home that the database remembers."""

    identity: str
    authority: str
    place: str
    host: str


class Process(Struct, frozen=True, kw_only=True):
    """A process that runs on the home, or did when it died."""

    id: str
    session: str
    host: str
    pid: int
    beat: int
    until: datetime


class Homes:
    """The rows of home and process."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self) -> Home | None:
        """Return the home, once there is one."""
        rows = await self._run(sql.FIND)
        return _home(rows[0]) if rows else None

    async def lock(self) -> Home | None:
        """Return the home, and let nobody else decide about it until the commit."""
        rows = await self._run(sql.LOCK)
        return _home(rows[0]) if rows else None

    async def add(self, home: Home) -> None:
        """Remember the first home; do nothing when there is one."""
        await self._run(
            sql.ADD,
            identity=home.identity,
            authority=home.authority,
            place=home.place,
            host=home.host,
        )

    async def take(self, home: Home, *, kinds: Sequence[str]) -> None:
        """Let this be the home; whoever held a task of nodes has lost it."""
        await self._run(
            sql.TAKE,
            new_identity=home.identity,
            new_authority=home.authority,
            new_place=home.place,
            new_host=home.host,
        )
        await self._run(sql.END_CLAIMS, kinds=json.dumps(list(kinds)))
        await self._run(sql.FORGET_ALL)

    async def processes(self) -> list[Process]:
        """List the processes that run on the home, or died there."""
        return [
            Process(
                id=id_,
                session=session,
                host=host,
                pid=pid,
                beat=beat,
                until=from_us(until),
            )
            for id_, session, host, pid, beat, until in await self._run(sql.PROCESSES)
        ]

    async def enter(
        self, process: Process, *, watches: bool, forget_before: datetime
    ) -> None:
        """Add a process, and forget those that died long ago."""
        await self._run(sql.FORGET_OLD, before=to_us(forget_before))
        await self._run(
            sql.ENTER,
            id=process.id,
            session=process.session,
            host=process.host,
            pid=process.pid,
            watches=int(watches),
            until=to_us(process.until),
        )

    async def beat(self, process_id: str, hold: Hold, *, until: datetime) -> bool:
        """Say that a process lives; False when it has no place here any more."""
        return bool(
            await self._run(
                sql.BEAT,
                process_id=process_id,
                next_until=to_us(until),
                home_identity=hold.identity,
                home_place=hold.place,
            )
        )

    async def leave(self, process_id: str) -> None:
        """Remove a process that ends."""
        await self._run(sql.LEAVE, process_id=process_id)

    async def forget_silent(self, process: Process) -> None:
        """Remove a process that has died, unless it was heard of meanwhile."""
        await self._run(sql.FORGET_SILENT, process_id=process.id, seen=process.beat)

    async def watching(self, *, now: datetime) -> int:
        """Count the processes that live and look after nodes."""
        return int((await self._run(sql.WATCHING, now=to_us(now)))[0][0])


def _home(row: Sequence[str]) -> Home:
    identity, authority, place, host = row
    return Home(identity=identity, authority=authority, place=place, host=host)
