"""The leased, fenced queue that everything runs on which runs by itself.

Promises: a task that was put runs at least once, however often the program dies; one
key of one kind never runs twice at once; a handler that lost its lease cannot write,
because each of its transactions checks the fence first; what is due starts within
milliseconds, and nothing polls.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from types import TracebackType

from leyden import logs
from leyden.domain.times import Clock
from leyden.errors import Away, Stale
from leyden.storage.database import Database
from leyden.storage.homes import Hold
from leyden.storage.nouns import Nouns
from leyden.storage.tasks import Claim, Shards
from leyden.values import Struct

log = logs.get()

# A lease that nobody extends is someone else's after this long.
LEASE = timedelta(seconds=30)
# The longest a lane sleeps when it knows of nothing: then it looks for leases whose
# holder died, and for what another process put where no notice crosses (SQLite).
_LONGEST_SLEEP_S = 1.0
_FIRST_RETRY_S = 1.0
_LAST_RETRY_S = 300.0


class _Fenced(AbstractAsyncContextManager[Nouns]):
    """A transaction of the holder alone; a class: a generator costs twice as much."""

    def __init__(
        self, transaction: AbstractAsyncContextManager[Nouns], claim: Claim
    ) -> None:
        self._transaction = transaction
        self._claim = claim

    async def __aenter__(self) -> Nouns:
        tx = await self._transaction.__aenter__()
        try:
            await tx.tasks.check(self._claim)
        except BaseException as error:
            await self._transaction.__aexit__(type(error), error, error.__traceback__)
            raise
        return tx

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._transaction.__aexit__(kind, error, trace)


class Work:
    """One task in hand."""

    def __init__(self, database: Database, claim: Claim) -> None:
        self._database = database
        self._claim = claim
        self.settled = False

    @property
    def claim(self) -> Claim:
        """Our hold on it."""
        return self._claim

    @property
    def key(self) -> str:
        """What the task is about."""
        return self._claim.key

    @property
    def attempts(self) -> int:
        """How often it was begun since it last went well, this time included."""
        return self._claim.attempts

    def transaction(self) -> AbstractAsyncContextManager[Nouns]:
        """Change things, if the task is still ours; otherwise Stale and no change."""
        return _Fenced(self._database.transaction(), self._claim)

    async def done(self, tx: Nouns) -> None:
        """End the task in the transaction that made it so."""
        await tx.tasks.end(self._claim)
        self.settled = True

    async def again(self, tx: Nouns, *, due: datetime) -> None:
        """Go on later, in the transaction that decided so; attempts start anew."""
        await tx.tasks.again(self._claim, due=due, attempts=0)
        self.settled = True


class Lane(Struct, frozen=True, kw_only=True):
    """One kind of task: who runs it, and how many at a time."""

    kind: str
    run: Callable[[Work], Awaitable[None]]
    at_once: int = 16
    lease: timedelta = LEASE
    at_home: bool = False  # only for processes of the home that nodes belong to
    watched: Shards | None = None  # only for who holds the node's shard, at home
    stands: bool = False  # goes on for as long as it is held
    share: Callable[[], int] | None = None  # how many at the most, where that changes


def retry_after(attempts: int) -> timedelta:
    """Wait twice as long after each failure: 1 s, 2 s, 4 s ... 5 minutes."""
    return timedelta(seconds=min(_FIRST_RETRY_S * 2 ** (attempts - 1), _LAST_RETRY_S))


class Worker:
    """Runs the lanes until it is stopped."""

    def __init__(
        self,
        database: Database,
        lanes: Sequence[Lane],
        *,
        clock: Clock,
        hold: Hold | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        hold = hold or Hold(holder=secrets.token_hex(8))
        self._lanes = [_Running(database, lane, clock, hold) for lane in lanes]
        database.listen(self._wake)

    def _wake(self, kinds: Collection[str] | None) -> None:
        for lane in self._lanes:
            if kinds is None or lane.lane.kind in kinds:
                lane.awake.set()

    async def run(self) -> None:
        """Work until cancelled; then leases are given back, not left to run out."""
        async with asyncio.TaskGroup() as group:
            for lane in self._lanes:
                group.create_task(lane.work(), name=f"lane {lane.lane.kind}")


class _Running:
    """A lane at work."""

    def __init__(
        self, database: Database, lane: Lane, clock: Clock, hold: Hold
    ) -> None:
        self.lane = lane
        self.awake = asyncio.Event()
        self._hold = hold
        self._database = database
        self._clock = clock
        self._hands: dict[asyncio.Task[None], Claim] = {}

    async def work(self) -> None:
        extending = asyncio.create_task(self._extend())
        try:
            while True:
                self.awake.clear()
                try:
                    pause = await self._begin()
                except (Away, Stale):
                    pause = _LONGEST_SLEEP_S
                with contextlib.suppress(TimeoutError):
                    # Not wait_for: in Python 3.11 it may swallow a cancellation.
                    async with asyncio.timeout(pause):
                        await self.awake.wait()
        finally:
            extending.cancel()
            await self._give_back()

    async def _begin(self) -> float:
        """Start what is due; say how long nothing else will be."""
        free = self._free_hands
        if free <= 0:
            return _LONGEST_SLEEP_S
        now = self._clock()
        due = await self._next_due(now)
        if due is None:
            return _LONGEST_SLEEP_S
        if due > now:
            return min((due - now).total_seconds(), _LONGEST_SLEEP_S)
        async with self._database.transaction() as tx:
            claims = await self._claim(tx, now, free)
        self._start(claims)
        return 0.0 if claims else _LONGEST_SLEEP_S

    @property
    def _free_hands(self) -> int:
        most = self.lane.at_once if self.lane.share is None else self.lane.share()
        return most - len(self._hands)

    async def _next_due(self, now: datetime) -> datetime | None:
        tasks, kind = self._database.reader.tasks, self.lane.kind
        if self.lane.watched is None:
            return await tasks.next_due(kind, now=now)
        return await tasks.next_due_watched(
            kind, self._hold, self.lane.watched, now=now
        )

    async def _claim(self, tx: Nouns, now: datetime, free: int) -> list[Claim]:
        kind, until = self.lane.kind, now + self.lane.lease
        if self.lane.watched is not None:
            return await tx.tasks.claim_watched(
                kind, self._hold, self.lane.watched, now=now, until=until, most=free
            )
        if self.lane.at_home:
            return await tx.tasks.claim_at_home(
                kind, self._hold, now=now, until=until, most=free
            )
        return await tx.tasks.claim(kind, now=now, until=until, most=free)

    def _start(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            hand = asyncio.create_task(
                self._one(claim), name=f"{claim.kind} {claim.key}"
            )
            self._hands[hand] = claim
            hand.add_done_callback(self._free)

    def _free(self, hand: asyncio.Task[None]) -> None:
        del self._hands[hand]
        self.awake.set()

    async def _one(self, claim: Claim) -> None:
        work = Work(self._database, claim)
        try:
            await self.lane.run(work)
            if not work.settled:
                async with work.transaction() as tx:
                    await work.done(tx)
        except Stale as error:
            log.info("put off", task=claim.kind, key=claim.key, why=error.message)
            await self._later(claim, timedelta(0))
        except Exception as error:
            pause = retry_after(claim.attempts)
            log.warning(
                "failed, will try again",
                task=claim.kind,
                key=claim.key,
                attempts=claim.attempts,
                again_in_s=pause.total_seconds(),
                why=f"{type(error).__name__}: {error}",
                exc_info=not isinstance(error, Away),
            )
            await self._later(claim, pause)

    async def _later(self, claim: Claim, pause: timedelta) -> None:
        # Where even this fails, the lease runs out and someone tries again.
        with contextlib.suppress(Stale, Away):
            async with self._database.transaction() as tx:
                await tx.tasks.again(
                    claim, due=self._clock() + pause, attempts=claim.attempts
                )

    async def _extend(self) -> None:
        while True:
            await asyncio.sleep(self.lane.lease.total_seconds() / 3)
            with contextlib.suppress(Away, Stale):
                await self._extend_all()

    async def _extend_all(self) -> None:
        # In one order, whoever does so: else two wait for each other's rows.
        hands = sorted(self._hands.items(), key=lambda each: each[1].key)
        if not hands:
            return
        until = self._clock() + self.lane.lease
        async with self._database.transaction() as tx:
            extend = tx.tasks.stand if self.lane.stands else tx.tasks.extend
            lost = [
                hand for hand, claim in hands if not await extend(claim, until=until)
            ]
        for hand in lost:
            hand.cancel()

    async def _give_back(self) -> None:
        hands = dict(self._hands)
        for hand in hands:
            hand.cancel()
        await asyncio.gather(*hands, return_exceptions=True)
        for claim in hands.values():
            await self._later(claim, timedelta(0))
