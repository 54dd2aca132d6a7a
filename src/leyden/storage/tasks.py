"""What is due, and whose it is for the moment.

A task is named by its kind and key; putting it again while it waits brings it
forward, putting it again while it runs makes it run once more afterwards. Whoever
claims it holds it until the lease ends; the fence rises with every claim, so that a
worker that was asleep for its whole lease finds out before it writes.
"""

from collections.abc import Sequence
from datetime import datetime

from leyden.domain.times import from_us, to_us
from leyden.errors import Lost, Stale
from leyden.storage.homes import Hold
from leyden.storage.statements import Row, Run
from leyden.storage.written import tasks as sql
from leyden.values import Struct


class Claim(Struct, frozen=True, kw_only=True):
    """One task, held under one fence."""

    kind: str
    key: str
    fence: int
    asked: int
    attempts: int  # this one included
    due: datetime

    @property
    def held(self) -> dict[str, str | int]:
        """Name this very claim to the statements that only its holder may run."""
        return {
            "task_kind": self.kind,
            "task_key": self.key,
            "held_fence": self.fence,
        }


class Shards(Struct, frozen=True, kw_only=True):
    """How nodes are shared out among those who watch them: by the rest of their slot.

    Each shard is a task of this kind, whose key is its number.
    """

    kind: str
    number: int


class Tasks:
    """The rows of the queue."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def put(self, kind: str, key: str, *, due: datetime) -> None:
        """Make the task due then, or earlier if it was; workers hear on commit."""
        await self._run(sql.PUT, kind=kind, key=key, due=to_us(due))
        self._run.wake(kind)

    async def put_many(self, kind: str, keys: Sequence[str], *, due: datetime) -> None:
        """Make all of these tasks due then, or earlier if they were."""
        at = to_us(due)
        await self._run.many(
            sql.PUT, [{"kind": kind, "key": key, "due": at} for key in keys]
        )
        if keys:
            self._run.wake(kind)

    async def claim(
        self, kind: str, *, now: datetime, until: datetime, most: int
    ) -> list[Claim]:
        """Take what is due and nobody's, the most overdue first."""
        return _claims(
            await self._run(
                sql.CLAIM,
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
        """Take what is due; nothing where the nodes belong to another home."""
        return _claims(
            await self._run(
                sql.CLAIM_AT_HOME,
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
        """Take what is due of the nodes whose shards this process holds."""
        return _claims(
            await self._run(
                sql.CLAIM_WATCHED,
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
        """Say when there is next something to claim."""
        rows = await self._run(sql.NEXT, kind=kind, now=to_us(now))
        return from_us(rows[0][0]) if rows else None

    async def next_due_watched(
        self, kind: str, hold: Hold, shards: Shards, *, now: datetime
    ) -> datetime | None:
        """Say when there is next something to claim of the nodes this process has."""
        rows = await self._run(
            sql.NEXT_WATCHED,
            kind=kind,
            now=to_us(now),
            holder=hold.holder,
            watch_kind=shards.kind,
            shards=shards.number,
        )
        return from_us(rows[0][0]) if rows else None

    async def check(self, claim: Claim) -> None:
        """Go on only if the task is still ours; on PostgreSQL this locks the row."""
        if not await self._run(sql.CHECK, **claim.held):
            raise Lost(f"{claim.kind} {claim.key}: someone else has it now")

    async def end(self, claim: Claim) -> None:
        """Take the task off, unless it was put again meanwhile: then it runs again."""
        if not await self._run(sql.END, **claim.held, seen=claim.asked):
            await self._run(sql.FREE, **claim.held)
            self._run.wake(claim.kind)

    async def end_all(self, claims: Sequence[Claim]) -> None:
        """Take these tasks off; Stale when one is not ours, or was put again."""
        # Always in the order of their keys, so that no two wait for each other.
        ordered = sorted(claims, key=lambda claim: claim.key)
        ended = await self._run.many(
            sql.END_ONE_OF_MANY, [{**each.held, "seen": each.asked} for each in ordered]
        )
        if ended != len(claims):
            raise Stale("someone else has one of these tasks, or wants it done again")

    async def again(self, claim: Claim, *, due: datetime, attempts: int) -> None:
        """Let it run again then, or at once if it was put meanwhile."""
        if not await self._run(
            sql.AGAIN,
            **claim.held,
            seen=claim.asked,
            next_due=to_us(due),
            next_attempts=attempts,
        ):
            raise Stale(f"{claim.kind} {claim.key}: someone else has it now")
        self._run.wake(claim.kind)

    async def free_all(self) -> None:
        """End every lease: for the one process that there is, before it claims any.

        Who held them was killed, and need not be waited for.
        """
        await self._run(sql.FREE_ALL)

    async def extend(self, claim: Claim, *, until: datetime) -> bool:
        """Hold it longer; False when it is no longer ours."""
        return bool(await self._run(sql.EXTEND, **claim.held, until=to_us(until)))

    async def stand(self, claim: Claim, *, until: datetime) -> bool:
        """Hold for longer what goes on as long as it is held; False when it is lost."""
        return bool(await self._run(sql.STAND, **claim.held, until=to_us(until)))


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
