"""The task queue: due tasks, and the processes that have claimed them.

A task is identified by its kind and key. Queuing it again while it waits
brings it forward; queuing it again while it runs makes it run once more
afterwards. A process owns a task until its claim expires. The fence rises
with every claim, so that a worker whose claim has expired notices it before
it writes.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.errors import Lost, Stale
from leyden.values import Struct

sql = SqlFile(__file__)


class TaskClaim(Struct, frozen=True, kw_only=True):
    """A claimed task, with its fence."""

    kind: str
    key: str
    fence: int
    times_queued: int
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
        self,
        kind: str,
        *,
        now: datetime,
        until: datetime,
        limit: int,
        holder: str = "",
        watch: str = "",
    ) -> list[TaskClaim]:
        """Claim due tasks without a valid claim, the most overdue first.

        With `holder`, only for a process that the nodes' home has registered; with
        `watch`, only for the one that has claimed the task of that kind.
        """
        return _claims(
            await self._run(
                sql.claim,
                kind=kind,
                now=to_us(now),
                until=to_us(until),
                limit=limit,
                holder=holder,
                watch=watch,
            )
        )

    async def next_due(self, kind: str, *, now: datetime) -> datetime | None:
        """Return when the next task can be claimed."""
        rows = await self._run(sql.next_due, kind=kind, now=to_us(now))
        return from_us(rows[0][0]) if rows else None

    async def is_queued(self, kind: str, key: str) -> bool:
        """Return whether a task is waiting or running."""
        return bool(await self._run(sql.find, kind=kind, key=key))

    async def check_held(self, claim: TaskClaim) -> None:
        """Raise Lost if another process has claimed the task, without locking it."""
        if not await self._run(sql.held, **claim.held):
            raise Lost(f"{claim.kind} {claim.key}: another process has claimed it")

    async def lock(self, claim: TaskClaim) -> None:
        """Lock the task until the commit; raise Lost if another process has claimed it.

        Call this last: other transactions lock the subject of a task first, and then
        the task. Only events are locked after it.
        """
        if not await self._run(sql.lock, **claim.held):
            raise Lost(f"{claim.kind} {claim.key}: another process has claimed it")

    async def end(self, claim: TaskClaim) -> None:
        """Complete the task; if it was queued again meanwhile, it runs again."""
        if not await self._run.many(
            sql.end, [{**claim.held, "asked": claim.times_queued}]
        ):
            await self._run(sql.release, **claim.held)
            self._run.wake(claim.kind)

    async def end_all(self, claims: Sequence[TaskClaim]) -> None:
        """Complete these tasks; raise Stale if one is lost or queued again."""
        # Always in the order of their keys, so that there are no deadlocks.
        ordered = sorted(claims, key=lambda claim: claim.key)
        ended = await self._run.many(
            sql.end, [{**each.held, "asked": each.times_queued} for each in ordered]
        )
        if ended != len(claims):
            raise Stale(
                "one of these tasks was claimed by another process, or requeued"
            )

    async def reschedule(
        self, claim: TaskClaim, *, due: datetime, attempts: int
    ) -> None:
        """Reschedule the task; run it at once if it was queued meanwhile."""
        if not await self._run(
            sql.reschedule,
            **claim.held,
            asked=claim.times_queued,
            due=to_us(due),
            attempts=attempts,
        ):
            raise Stale(f"{claim.kind} {claim.key}: another process has claimed it")
        self._run.wake(claim.kind)

    async def release_all(self) -> None:
        """End all claims at the start of a single-process installation.

        The previous process has ended, so its claims need not expire first.
        """
        await self._run(sql.release_all)

    async def extend(
        self,
        kind: str,
        claims: Collection[TaskClaim],
        *,
        until: datetime,
        continuous: bool = False,
    ) -> list[TaskClaim]:
        """Extend claims on tasks of a kind; return those that are still ours."""
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


def _claims(rows: Sequence[Row]) -> list[TaskClaim]:
    dues = {row[-1]: from_us(row[-1]) for row in rows}  # most have the same time
    claims = [
        TaskClaim(
            kind=kind,
            key=key,
            fence=fence,
            times_queued=times_queued,
            attempts=attempts,
            due=dues[due],
        )
        for kind, key, fence, times_queued, attempts, due in rows
    ]
    return sorted(claims, key=lambda claim: claim.due)
