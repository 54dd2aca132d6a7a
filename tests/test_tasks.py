import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Self, cast

import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import utc_now
from leyden.base.tasks.queues import Queue, retry_after
from leyden.base.tasks.rows.tasks import TaskClaim
from leyden.base.tasks.work import Work
from leyden.base.tasks.worker import Worker
from leyden.errors import DatabaseAway, Lost, Stale
from leyden.nodes.rows.homes import Process
from tests.away import FailingDatabase
from tests.metrics import Observed
from tests.waiting import until

Handler = Callable[[Work], Awaitable[None]]
PROCESS = Process(
    id="worker", session="s", host="harbour", pid=7, beat=0, until=utc_now()
)


async def put(db: Database, key: str, *, due: datetime | None = None) -> None:
    async with db.transaction() as tx:
        await tx.tasks.put("lamp", key, due=due or utc_now())


class Running:
    """A worker with one lane, for the length of a block."""

    def __init__(self, db: Database, handler: Handler, **queue: object) -> None:
        queues = [Queue(kind="lamp", run=handler, **queue)]  # type: ignore[arg-type]
        self._worker = Worker(db, queues, clock=utc_now)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._worker.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


async def left(db: Database) -> bool:
    later = utc_now() + timedelta(days=1)
    return await db.reader.tasks.next_due("lamp", now=later) is not None


async def until_none_left(db: Database) -> None:
    async with asyncio.timeout(30):
        while await left(db):
            await asyncio.sleep(0.005)


async def test_what_is_put_runs_once(db: Database) -> None:
    lit: list[str] = []

    async def light(work: Work) -> None:
        lit.append(work.key)

    async with Running(db, light):
        for number in range(50):
            await put(db, f"lamp {number}")
        await until(lambda: len(lit) == 50)
        await until_none_left(db)
    assert sorted(lit) == sorted(f"lamp {number}" for number in range(50))


async def test_how_long_a_task_was_due_before_it_was_claimed_is_counted(
    db: Database,
) -> None:
    observed = Observed.since_now("leyden_queue_lag_seconds", queue="lamp")
    lit = asyncio.Event()

    async def light(_: Work) -> None:
        lit.set()

    await put(db, "harbour", due=utc_now() - timedelta(seconds=60))
    async with Running(db, light), asyncio.timeout(10):
        await lit.wait()
    number, seconds = observed.new()
    assert number == 1
    assert 60 <= seconds < 120


async def test_what_is_due_later_waits(db: Database) -> None:
    lit: list[datetime] = []

    async def light(_: Work) -> None:
        lit.append(utc_now())

    due = utc_now() + timedelta(seconds=0.3)
    async with Running(db, light):
        await put(db, "later", due=due)
        await until(lambda: bool(lit))
    assert lit[0] >= due


async def test_putting_it_again_brings_it_forward_but_never_back(db: Database) -> None:
    now = utc_now()
    hour = timedelta(hours=1)
    await put(db, "lamp", due=now + hour)
    await put(db, "lamp", due=now)
    await put(db, "lamp", due=now + hour)
    assert await db.reader.tasks.next_due("lamp", now=now) == now


async def test_put_while_it_runs_it_runs_once_more(db: Database) -> None:
    begun, finish = asyncio.Event(), asyncio.Event()
    runs = 0

    async def light(_: Work) -> None:
        nonlocal runs
        runs += 1
        begun.set()
        await finish.wait()

    async with Running(db, light):
        await put(db, "lamp")
        await begun.wait()
        await put(db, "lamp")
        await asyncio.sleep(0.05)
        assert runs == 1  # never twice at once
        finish.set()
        await until(lambda: runs == 2)
        await until_none_left(db)


async def test_two_workers_never_run_one_key_at_once(db: Database) -> None:
    inside: set[str] = set()
    runs = 0

    async def light(work: Work) -> None:
        nonlocal runs
        assert work.key not in inside
        inside.add(work.key)
        await asyncio.sleep(0.001)
        inside.remove(work.key)
        runs += 1

    async with Running(db, light), Running(db, light), Running(db, light):
        for _ in range(20):
            await asyncio.gather(*(put(db, f"lamp {number}") for number in range(5)))
        await until_none_left(db)
    assert runs >= 5


async def test_a_failure_is_tried_again_with_growing_pauses(db: Database) -> None:
    attempts: list[int] = []

    async def light(work: Work) -> None:
        attempts.append(work.attempts)
        raise ZeroDivisionError

    await put(db, "lamp")
    async with Running(db, light):
        await until(lambda: attempts == [1])
        while True:
            due = await db.reader.tasks.next_due("lamp", now=utc_now())
            if due is not None and due > utc_now():
                break
            await asyncio.sleep(0.002)
    assert timedelta(0) < due - utc_now() <= timedelta(seconds=1)
    assert [retry_after(n).total_seconds() for n in (1, 2, 3, 9, 30)] == [
        1,
        2,
        4,
        256,
        300,
    ]


async def test_what_has_failed_for_days_is_still_tried_again_after_a_pause(
    db: Database,
) -> None:
    """The node of a machine that is lost, say: 1,025 attempts are four days."""
    attempts: list[int] = []

    async def light(work: Work) -> None:
        attempts.append(work.attempts)
        raise ZeroDivisionError

    await put(db, "lamp")
    now = utc_now()
    async with db.transaction() as tx:
        [claim] = await tx.tasks.claim("lamp", now=now, until=now, limit=1)
        await tx.tasks.reschedule(claim, due=now, attempts=2_000)
    async with Running(db, light):
        await until(lambda: attempts == [2_001])
        async with asyncio.timeout(5):
            while True:
                due = await db.reader.tasks.next_due("lamp", now=utc_now())
                if due is not None and due > utc_now():
                    break
                await asyncio.sleep(0.002)
    assert due - utc_now() > timedelta(seconds=290)


async def test_what_fails_while_the_database_is_away_waits_for_no_claim_to_run_out(
    sqlite_db: Database,
) -> None:
    db = FailingDatabase(sqlite_db)
    lit: list[float] = []

    async def light(_: Work) -> None:
        lit.append(time.monotonic())
        if len(lit) == 1:
            db.error = DatabaseAway()
            raise DatabaseAway

    await put(sqlite_db, "lamp")
    async with Running(cast("Database", db), light):
        await until(lambda: len(lit) == 1)
        await asyncio.sleep(0.3)
        db.error = None
        await until(lambda: len(lit) == 2)
        await until_none_left(sqlite_db)


async def test_a_worker_that_lost_its_claim_changes_nothing(db: Database) -> None:
    """The zombie: asleep for its whole claim, then awake and eager."""
    now = utc_now()
    await put(db, "lamp", due=now)
    second = timedelta(seconds=1)
    async with db.transaction() as tx:
        [zombie] = await tx.tasks.claim("lamp", now=now, until=now + second, limit=1)
    async with db.transaction() as tx:
        later = now + 2 * second
        [heir] = await tx.tasks.claim("lamp", now=later, until=later + second, limit=1)
    assert heir.fence > zombie.fence
    with pytest.raises(Stale):
        async with Work(db, zombie).transaction() as tx:
            await tx.audit.add(at=now, actor="zombie", action="lit", subject="lamp")
    assert await db.reader.audit.latest() == []
    async with db.transaction() as tx:
        await tx.tasks.end(zombie)
    assert await left(db)
    held = Work(db, heir)
    async with held.transaction() as tx:
        await held.done(tx)
    assert not await left(db)


@pytest.mark.parametrize(
    "how", [{}, {"holder": PROCESS.id}, {"holder": PROCESS.id, "watch": "watcher"}]
)
async def test_a_worker_that_lost_its_claim_changes_nothing_of_the_next_task_either(
    db: Database, how: dict[str, str]
) -> None:
    """Another did what the zombie had claimed, and the same is to be done once more."""
    second, now = timedelta(seconds=1), utc_now()
    async with db.transaction() as tx:
        await tx.homes.enter(PROCESS, delete_before=now)
        await tx.tasks.put("watcher", "all", due=now)
        await tx.tasks.claim(
            "watcher", now=now, until=now + second, limit=1, holder=PROCESS.id
        )

    async def claimed(now: datetime) -> TaskClaim:
        async with db.transaction() as tx:
            until = now + second
            (claim,) = await tx.tasks.claim(
                "lamp", now=now, until=until, limit=1, **how
            )
        return claim

    await put(db, "lamp", due=now)
    zombie = await claimed(now)
    heir = Work(db, await claimed(now + 2 * second))
    async with heir.transaction() as tx:
        await heir.done(tx)
    await put(db, "lamp", due=now)
    next_one = await claimed(now + 3 * second)
    assert next_one.fence > heir.claim.fence
    with pytest.raises(Lost):
        async with Work(db, zombie).transaction():
            pass
    async with db.transaction() as tx:
        until = now + 9 * second
        assert await tx.tasks.extend("lamp", [zombie], until=until) == []


async def test_who_loses_a_task_while_writing_leaves_nothing(
    postgres_url: str,
) -> None:
    """The claim is checked again at the end: what is written until then is undone."""
    db = await open_database(postgres_url)
    now = utc_now()
    await put(db, "lamp", due=now)
    second = timedelta(seconds=1)
    async with db.transaction() as tx:
        [claim] = await tx.tasks.claim("lamp", now=now, until=now + second, limit=1)
    with pytest.raises(Stale):
        async with Work(db, claim).transaction() as tx:
            await tx.audit.add(at=now, actor="zombie", action="lit", subject="lamp")
            async with db.transaction() as another:
                later = now + 2 * second
                await another.tasks.claim("lamp", now=later, until=later, limit=1)
    assert await db.reader.audit.latest() == []
    await db.close()


async def test_a_task_is_put_while_its_holder_waits_for_what_it_is_about(
    postgres_url: str,
) -> None:
    """Both lock what the task is about first: neither waits for the other for ever."""
    db = await open_database(postgres_url)
    now = utc_now()
    await put(db, "lamp", due=now)
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id="o", name="Harbour Light", created=now))
        until = now + timedelta(seconds=30)
        [claim] = await tx.tasks.claim("lamp", now=now, until=until, limit=1)
    entered = asyncio.Event()

    async def hold() -> None:
        async with Work(db, claim).transaction() as tx:
            entered.set()
            await tx.accounts.lock("o")

    async with db.transaction() as tx:
        await tx.accounts.lock("o")
        holder = asyncio.create_task(hold())
        await entered.wait()
        await tx.tasks.put("lamp", "lamp", due=now)
    await holder
    await db.close()


async def test_a_claim_is_extended_while_the_work_goes_on(db: Database) -> None:
    runs = 0

    async def light(_: Work) -> None:
        nonlocal runs
        runs += 1
        await asyncio.sleep(0.8)

    claim_for = timedelta(seconds=0.3)
    with_it = partial(Running, db, light, claim_for=claim_for)
    async with with_it(), with_it():
        await put(db, "slow lamp")
        await until(lambda: runs == 1)
        await until_none_left(db)
    assert runs == 1


@pytest.mark.parametrize("is_queued_again", [False, True])
async def test_a_claim_that_has_ended_is_not_extended(
    db: Database,
    is_queued_again: bool,  # noqa: FBT001
) -> None:
    """The task ends while its extension waits for its turn to write."""
    now = utc_now()
    until = now + timedelta(seconds=30)
    await put(db, "lamp", due=now)
    async with db.transaction() as tx:
        [claim] = await tx.tasks.claim("lamp", now=now, until=until, limit=1)
    if is_queued_again:
        await put(db, "lamp", due=now)
    async with db.transaction() as tx:
        if is_queued_again:
            await tx.tasks.end(claim)
        else:
            await tx.tasks.reschedule(claim, due=now, attempts=0)
    async with db.transaction() as tx:
        assert await tx.tasks.extend("lamp", [claim], until=until) == []
    assert await db.reader.tasks.next_due("lamp", now=now) == now


async def test_claims_are_extended_after_an_error_that_nobody_expects(
    db: Database,
) -> None:
    """Else others take what is being done, and whoever does it is not told."""
    odd, begun, may_end = FailingDatabase(db), asyncio.Event(), asyncio.Event()

    async def light(_: Work) -> None:
        begun.set()
        await may_end.wait()

    await put(db, "slow lamp")
    slow = cast("Database", odd)
    claim_for = timedelta(seconds=0.3)
    async with Running(slow, light, concurrency=1, claim_for=claim_for):
        await begun.wait()
        odd.error = ZeroDivisionError()
        await until(lambda: odd.refused > 0)
        odd.error = None
        claimed = odd.commits
        await until(lambda: odd.commits > claimed)  # nothing else is written
        may_end.set()
        await until_none_left(db)


async def test_stopping_gives_claims_back_at_once(db: Database) -> None:
    begun = asyncio.Event()

    async def hold(_: Work) -> None:
        begun.set()
        await asyncio.Event().wait()

    await put(db, "lamp")
    async with Running(db, hold):
        await begun.wait()
    lit: list[str] = []

    async def light(work: Work) -> None:
        lit.append(work.key)

    async with Running(db, light):
        await until(lambda: lit == ["lamp"])


async def test_whoever_stops_while_the_database_is_away_asks_it_but_once(
    sqlite_db: Database,
) -> None:
    """Each try takes its seconds, and whoever stops us does not wait for hundreds."""
    db, begun = FailingDatabase(sqlite_db), 0

    async def hold(_: Work) -> None:
        nonlocal begun
        begun += 1
        await asyncio.Event().wait()

    for number in range(5):
        await put(sqlite_db, f"lamp {number}")
    async with Running(cast("Database", db), hold):
        await until(lambda: begun == 5)
        db.error = DatabaseAway()
    assert db.refused == 1


async def test_done_and_the_work_itself_are_one_commit(db: Database) -> None:
    async def light(work: Work) -> None:
        async with work.transaction() as tx:
            await tx.audit.add(
                at=utc_now(), actor="test", action="lit", subject=work.key
            )
            await work.done(tx)
            if work.attempts == 1:
                raise ZeroDivisionError

    await put(db, "lamp")
    async with Running(db, light):
        await until_none_left(db)
    assert len(await db.reader.audit.latest()) == 1


async def test_what_a_killed_process_held_is_free_for_the_next_at_once(
    db: Database,
) -> None:
    await put(db, "held")
    now = utc_now()
    async with db.transaction() as tx:
        await tx.tasks.claim("lamp", now=now, until=now + timedelta(hours=1), limit=1)
    ran = asyncio.Event()

    async def light(_: Work) -> None:
        ran.set()

    async with db.transaction() as tx:
        await tx.tasks.release_all()
    async with Running(db, light):
        await until(ran.is_set)


async def test_tasks_that_end_together_end_all_or_none(db: Database) -> None:
    for name in ("red", "green", "blue"):
        await put(db, name)
    now = utc_now() + timedelta(seconds=1)
    async with db.transaction() as tx:
        red, *others = await tx.tasks.claim(
            "lamp", now=now, until=now + timedelta(seconds=30), limit=3
        )
    await put(db, red.key)  # it is to run again
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            await tx.tasks.end_all([red, *others])
    async with db.transaction() as tx:
        await tx.tasks.end_all(others)
    with pytest.raises(Stale):  # they are nobody's any more
        async with db.transaction() as tx:
            await tx.tasks.end_all(others)
    assert await left(db)


async def test_a_task_that_someone_else_has_is_not_ended(db: Database) -> None:
    await put(db, "lamp")
    now = utc_now() + timedelta(seconds=1)
    async with db.transaction() as tx:
        (late,) = await tx.tasks.claim("lamp", now=now, until=now, limit=1)
    async with db.transaction() as tx:
        await tx.tasks.claim("lamp", now=now, until=now, limit=1)
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            await tx.tasks.end_all([late])
    assert await left(db)


async def test_a_crowd_that_is_due_at_once_is_taken_in_lots_and_holds_up_nobody(
    db: Database,
) -> None:
    crowd = 200
    inside = limit = lit = 0
    lit_before: list[int] = []

    async def light(_work: Work) -> None:
        nonlocal inside, limit, lit
        inside += 1
        limit = max(limit, inside)
        await asyncio.sleep(0)
        inside -= 1
        lit += 1

    async def ring(_work: Work) -> None:
        lit_before.append(lit)

    now = utc_now()
    async with db.transaction() as tx:
        for number in range(crowd):
            await tx.tasks.put("lamp", f"lamp {number}", due=now)
        await tx.tasks.put("bell", "bell", due=now)
    queues = [
        Queue(kind="lamp", run=light, concurrency=8),
        Queue(kind="bell", run=ring),
    ]
    working = asyncio.create_task(Worker(db, queues, clock=utc_now).run())
    await until(lambda: lit == crowd)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    assert limit <= 8
    assert lit_before, "the bell never rang"
    assert lit_before[0] < crowd
