"""The worker: claims due tasks of its queues, runs them, and extends the claims."""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import Histogram

from leyden.base.database.database import Database
from leyden.base.rules.times import Clock
from leyden.base.tasks.queues import Queue, retry_after
from leyden.base.tasks.rows.tasks import TaskClaim
from leyden.base.tasks.work import Work
from leyden.errors import Away, Stale

_LAG: Final = Histogram(
    "leyden_queue_lag_seconds",
    "From when a task was due until a process claimed it.",
    ["queue"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300),
)

log = logging.getLogger(__name__)

# The longest that a queue of continuous tasks sleeps. Then it looks for claims whose
# holder died. Other queues look less often, where that is announced: twenty queues that
# look every second are most of the load of an idle worker on PostgreSQL.
_LONGEST_SLEEP_S = 1.0
# No other process could take over what runs continuously: save the write every few
# seconds.
_CLAIM_FOR_ALONE = timedelta(days=1)
_RETRY_WRITE_S = 0.5


class Worker:
    """Runs the queues until it is stopped."""

    def __init__(
        self,
        database: Database,
        queues: Sequence[Queue],
        *,
        clock: Clock,
        process_id: str = "",
    ) -> None:
        self._database = database
        self._clock = clock
        holder = process_id or secrets.token_hex(8)
        self._queues = [
            _RunningQueue(database, queue, clock, holder) for queue in queues
        ]
        database.listen(self._wake)

    def _wake(self, kinds: Collection[str] | None) -> None:
        for queue in self._queues:
            if kinds is None or queue.queue.kind in kinds:
                queue.awake.set()

    async def run(self) -> None:
        """Work until cancelled; then release all claims at once."""
        async with asyncio.TaskGroup() as group:
            for queue in self._queues:
                group.create_task(queue.work(), name=f"queue {queue.queue.kind}")


class _RunningQueue:
    """A running queue."""

    def __init__(
        self, database: Database, queue: Queue, clock: Clock, holder: str
    ) -> None:
        self.queue = queue
        self.awake = asyncio.Event()
        self._holder = holder if queue.at_home else ""
        self._database = database
        self._clock = clock
        self._running: dict[asyncio.Task[None], TaskClaim] = {}
        self._claim_for, self._longest_sleep_s = queue.claim_for, _LONGEST_SLEEP_S
        if not queue.continuous:
            part_s = queue.claim_for.total_seconds() / 3
            self._longest_sleep_s = min(part_s, database.look_every_s)
        elif database.is_alone:
            self._claim_for = _CLAIM_FOR_ALONE

    async def work(self) -> None:
        extending = asyncio.create_task(self._extend())
        try:
            while True:
                self.awake.clear()
                try:
                    pause = await self._start_due()
                except (Away, Stale):
                    pause = _LONGEST_SLEEP_S
                with contextlib.suppress(TimeoutError):
                    # Not wait_for: in Python 3.11 it may swallow a cancellation.
                    async with asyncio.timeout(pause):
                        await self.awake.wait()
        finally:
            extending.cancel()
            await self._release_all()

    async def _start_due(self) -> float:
        """Start due tasks; return the seconds until the next one is due."""
        free = self.queue.concurrency - len(self._running)
        if free <= 0:
            return self._longest_sleep_s
        now = self._clock()
        due = await self._database.reader.tasks.next_due(self.queue.kind, now=now)
        if due is None:
            return self._longest_sleep_s
        if due > now:
            return min((due - now).total_seconds(), self._longest_sleep_s)
        async with self._database.transaction() as tx:
            claims = await tx.tasks.claim(
                self.queue.kind,
                now=now,
                until=now + self._claim_for,
                limit=free,
                holder=self._holder,
                watch=self.queue.watch,
            )
        self._observe(claims)
        self._start(claims)
        if claims and self.queue.continuous:
            await self._extend_all()  # as it now runs, it has not failed
        return 0.0 if claims else _LONGEST_SLEEP_S  # another process was quicker

    def _observe(self, claims: Sequence[TaskClaim]) -> None:
        if not self.queue.continuous:  # else it was due when the program first started
            now, lag = self._clock(), _LAG.labels(self.queue.kind)
            for claim in claims:
                lag.observe((now - claim.due).total_seconds())

    def _start(self, claims: Sequence[TaskClaim]) -> None:
        for claim in claims:
            task = asyncio.create_task(
                self._run(claim), name=f"{claim.kind} {claim.key}"
            )
            self._running[task] = claim
            task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self.awake.set()

    async def _run(self, claim: TaskClaim) -> None:
        work = Work(self._database, claim)
        try:
            await self.queue.run(work)
            if not work.settled:
                async with work.transaction() as tx:
                    await work.done(tx)
        except Stale as error:
            log.info(
                "put off",
                extra={"task": claim.kind, "key": claim.key, "why": error.message},
            )
            await self._reschedule(claim, timedelta(0))
        except Exception as error:
            pause = retry_after(claim.attempts)
            log.warning(
                "failed, will try again",
                exc_info=not isinstance(error, Away),
                extra={
                    "task": claim.kind,
                    "key": claim.key,
                    "attempts": claim.attempts,
                    "again_in_s": pause.total_seconds(),
                    "why": f"{type(error).__name__}: {error}",
                },
            )
            await self._reschedule(claim, pause)

    async def _reschedule(self, claim: TaskClaim, pause: timedelta) -> None:
        # Until this is written no process runs the task, for as long as the claim
        # lasts.
        due = self._clock() + pause
        while True:
            if await self._try_reschedule(claim, due):
                return
            await asyncio.sleep(_RETRY_WRITE_S)

    async def _try_reschedule(self, claim: TaskClaim, due: datetime) -> bool:
        """Reschedule a task, unless the claim is lost; return False if that failed."""
        try:
            async with self._database.transaction() as tx:
                await tx.tasks.reschedule(claim, due=due, attempts=claim.attempts)
        except Away:
            return False
        except Stale as error:
            log.debug("is another's by now", extra={"why": error.message})
        return True

    async def _extend(self) -> None:
        while True:
            await asyncio.sleep(self._claim_for.total_seconds() / 3)
            try:
                await self._extend_all()
            except (Away, Stale):
                pass
            except Exception:
                # It must not end this: others would take what goes on here.
                log.exception(
                    "claims were not extended", extra={"queue": self.queue.kind}
                )

    async def _extend_all(self) -> None:
        running = dict(self._running)
        if not running:
            return
        until = self._clock() + self._claim_for
        async with self._database.transaction() as tx:
            held = await tx.tasks.extend(
                self.queue.kind,
                running.values(),
                until=until,
                continuous=self.queue.continuous,
            )
        for task, claim in running.items():
            if claim not in held:
                task.cancel()

    async def _release_all(self) -> None:
        hands = dict(self._running)
        for hand in hands:
            hand.cancel()
        await asyncio.gather(*hands, return_exceptions=True)
        for claim in hands.values():
            if not await self._try_reschedule(claim, self._clock()):
                return  # this claim runs out, as all others do
