"""The task queue: what is due, and which process has claimed it.

A task is named by its kind and key. Queuing it again while it waits brings
it forward; queuing it again while it runs makes it run once more
afterwards. A process holds a task until its claim ends. The fence rises
with every claim, so that a worker that slept past its claim finds out
before it writes.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from leyden.domain.times import from_us, to_us
from leyden.errors import Lost, Stale
from leyden.storage.homes import Hold
from leyden.storage.statements import Row, Run, SqlFile
from leyden.values import Struct

sql = SqlFile("tasks")


class Claim(Struct, frozen=True, kw_only=True):
    """A claimed task, with its fence."""

    kind: str
    key: str
    fence: int
    asked: int
    attempts: int  # this one included
    due: datetime

    @property
    def held(self) -> dict[str, str | int]:
        """The parameters that identify this claim to statements for its holder."""
        return {
            "kind": self.kind,
            "key": self.key,
            "fence": self.fence,
        }


class Shards(Struct, frozen=True, kw_only=True):
    """The division of nodes among watchers, by placement number modulo.

    Each shard is a task of this kind, whose key is the shard's number.
    """

    kind: str
    number: int


class Tasks:
    """The rows of task."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def put(self, kind: str, key: str, *, due: datetime) -> None:
        """Queue the task for then, or keep an earlier time; wake workers."""
        await self._run(sql.put, kind=kind, key=key, due=to_us(due))
        self._run.wake(kind)

    async def put_many(self, kind: str, keys: Sequence[str], *, due: datetime) -> None:
        """Queue all of these tasks for then, or keep their earlier times."""
        at = to_us(due)
        await self._run.many(
            sql.put, [{"kind": kind, "key": key, "due": at} for key in keys]
        )
        if keys:
            self._run.wake(kind)

    async def claim(
        self, kind: str, *, now: datetime, until: datetime, most: int
    ) -> list[Claim]:
        """Claim due tasks that nobody holds, the most overdue first."""
        return _claims(
            await self._run(
                sql.claim,
                kind=kind,
                now=to_us(now),
                until=to_us(until),
                most=most,
                holder="",
            )
        )

    async def claim_at_home(
        self, kind: str, hold: Hold, *, now: datetime, until: datetime, most: int
    ) -> list[Claim]:
        """Claim due tasks; none if the nodes belong to another home."""
        return _claims(
            await self._run(
                sql.claim_at_home,
                kind=kind,
                now=to_us(now),
                until=to_us(until),
                most=most,
                holder=hold.holder,
                home_identity=hold.identity,
                home_place=hold.place,
            )
        )

    async def claim_watched(
        self,
        kind: str,
        hold: Hold,
        shards: Shards,
        *,
        now: datetime,
        until: datetime,
        most: int,
    ) -> list[Claim]:
        """Claim due tasks of nodes whose shards this process has claimed."""
        return _claims(
            await self._run(
                sql.claim_watched,
                kind=kind,
                now=to_us(now),
                until=to_us(until),
                most=most,
                holder=hold.holder,
                home_identity=hold.identity,
                home_place=hold.place,
                watch_kind=shards.kind,
                shards=shards.number,
            )
        )

    async def next_due(self, kind: str, *, now: datetime) -> datetime | None:
        """Return when the next task can be claimed."""
        rows = await self._run(sql.next_due, kind=kind, now=to_us(now))
        return from_us(rows[0][0]) if rows else None

    async def next_due_watched(
        self, kind: str, hold: Hold, shards: Shards, *, now: datetime
    ) -> datetime | None:
        """Return when the next task of this process's nodes can be claimed."""
        rows = await self._run(
            sql.next_due_watched,
            kind=kind,
            now=to_us(now),
            holder=hold.holder,
            watch_kind=shards.kind,
            shards=shards.number,
        )
        return from_us(rows[0][0]) if rows else None

    async def is_queued(self, kind: str, key: str) -> bool:
        """Return whether a task waits, or runs."""
        return bool(await self._run(sql.find, kind=kind, key=key))

    async def check_held(self, claim: Claim) -> None:
        """Raise Lost if somebody else has the task; nothing is locked."""
        if not await self._run(sql.held, **claim.held):
            raise Lost(f"{claim.kind} {claim.key}: someone else has it now")

    async def lock(self, claim: Claim) -> None:
        """Lock the task until the commit; raise Lost if another process has claimed it.

        To be called last: others lock what a task is about, and then the task. What
        comes after a task in every transaction, as events do, is locked after it.
        """
        if not await self._run(sql.lock, **claim.held):
            raise Lost(f"{claim.kind} {claim.key}: someone else has it now")

    async def end(self, claim: Claim) -> None:
        """Complete the task; if it was queued again meanwhile, it runs again."""
        if not await self._run.many(sql.end, [{**claim.held, "asked": claim.asked}]):
            await self._run(sql.free, **claim.held)
            self._run.wake(claim.kind)

    async def end_all(self, claims: Sequence[Claim]) -> None:
        """Complete these tasks; raise Stale if one is lost or queued again."""
        # Always in the order of their keys, so that no two wait for each other.
        ordered = sorted(claims, key=lambda claim: claim.key)
        ended = await self._run.many(
            sql.end, [{**each.held, "asked": each.asked} for each in ordered]
        )
        if ended != len(claims):
            raise Stale("someone else has one of these tasks, or wants it done again")

    async def reschedule(self, claim: Claim, *, due: datetime, attempts: int) -> None:
        """Reschedule the task; run it at once if it was queued meanwhile."""
        if not await self._run(
            sql.reschedule,
            **claim.held,
            asked=claim.asked,
            due=to_us(due),
            attempts=attempts,
        ):
            raise Stale(f"{claim.kind} {claim.key}: someone else has it now")
        self._run.wake(claim.kind)

    async def free_all(self) -> None:
        """End every claim, in a single-process installation, before claiming.

        The previous holder was killed, so there is no need to wait for it.
        """
        await self._run(sql.free_all)

    async def extend(
        self,
        kind: str,
        claims: Collection[Claim],
        *,
        until: datetime,
        continuous: bool = False,
    ) -> list[Claim]:
        """Extend claims on tasks of a kind; return those that are not lost."""
        rows = await self._run(
            sql.extend,
            kind=kind,
            keys=tuple(claim.key for claim in claims),
            held=tuple(f"{claim.key} {claim.fence}" for claim in claims),
            until=to_us(until),
            continuous=int(continuous),
        )
        held = {(key, fence) for key, fence in rows}
        return [claim for claim in claims if (claim.key, claim.fence) in held]


def _claims(rows: Sequence[Row]) -> list[Claim]:
    dues = {row[-1]: from_us(row[-1]) for row in rows}  # most are put together
    claims = [
        Claim(
            kind=kind,
            key=key,
            fence=fence,
            asked=asked,
            attempts=attempts,
            due=dues[due],
        )
        for kind, key, fence, asked, attempts, due in rows
    ]
    return sorted(claims, key=lambda claim: claim.due)
