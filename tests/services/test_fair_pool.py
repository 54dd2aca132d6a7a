"""Threads for slow work: turns are taken by owner, and nobody takes all of them."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from leyden.errors import Malformed, TooMany
from leyden.helpers.pool import Helpers, Outcome
from leyden.services.shared.fair_pool import FairPool
from leyden.services.shared.uploads import Uploads
from tests.helpers import work as work_of_helpers


def here(work: Callable[[], Any], *, cpu_s: float = 0.0) -> Outcome:
    """Do the work in the pool's own thread."""
    return Outcome(work(), None, cpu_s)


class Work:
    """Jobs that wait until they are let go on, and note when they began."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.done = threading.Semaphore(0)

    def of(self, owner: str) -> Callable[[], str]:
        def work() -> str:
            self.begun.append(owner)
            assert self.done.acquire(timeout=30)
            return threading.current_thread().name

        return work

    async def has_begun(self, number: int) -> list[str]:
        async with asyncio.timeout(30):
            while len(self.begun) < number:
                await asyncio.sleep(0.001)
        return self.begun


@pytest.fixture
def work() -> Iterator[Work]:
    made = Work()
    yield made
    made.done.release(100)  # a test that failed leaves no thread behind


def ask(pool: FairPool, work: Work, owner: str) -> asyncio.Task[str]:
    return asyncio.create_task(pool.run(owner, work.of(owner)))


async def finished(work: Work, tasks: list[asyncio.Task[str]]) -> list[str]:
    for _ in tasks:
        work.done.release()
    return await asyncio.gather(*tasks)


async def test_one_owner_has_one_thread_however_much_waits(work: Work) -> None:
    pool = FairPool(threads=2, compute=here, name="upload")
    tasks = [ask(pool, work, "alice") for _ in range(5)]
    assert await work.has_begun(1) == ["alice"]
    tasks.append(ask(pool, work, "charlie"))
    assert await work.has_begun(2) == ["alice", "charlie"]
    names = await finished(work, tasks)
    assert all(name.startswith("upload") for name in names)
    assert work.begun == ["alice", "charlie", *["alice"] * 4]


async def test_owners_take_turns(work: Work) -> None:
    pool = FairPool(threads=1, compute=here, name="upload")
    tasks = [ask(pool, work, "alice") for _ in range(3)]
    await work.has_begun(1)
    tasks += [ask(pool, work, each) for each in ("bob", "bob", "charlie")]
    await asyncio.sleep(0)
    await finished(work, tasks)
    assert work.begun == ["alice", "alice", "bob", "charlie", "alice", "bob"]


async def test_too_much_that_waits_is_refused_to_its_owner_alone(work: Work) -> None:
    pool = FairPool(threads=1, waiting=2, compute=here, name="upload")
    tasks = [ask(pool, work, "alice")]
    await work.has_begun(1)
    tasks += [ask(pool, work, "alice") for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(TooMany) as refusal:
        async with asyncio.timeout(5):
            await pool.run("alice", work.of("alice"))
    assert refusal.value.retry_after_s == 1
    tasks.append(ask(pool, work, "charlie"))
    await asyncio.sleep(0)
    await finished(work, tasks)
    assert sorted(work.begun) == ["alice"] * 3 + ["charlie"]


async def test_who_took_much_of_the_processor_rests_while_others_go_on() -> None:
    taken_s = itertools.chain([60.0], itertools.repeat(0.0))  # by the first call
    pool = FairPool(compute=lambda work: here(work, cpu_s=next(taken_s)), name="upload")
    begun: list[str] = []
    await pool.run("alice", lambda: begun.append("alice"))
    again = asyncio.create_task(pool.run("alice", lambda: begun.append("again")))
    await asyncio.sleep(0)
    for _ in range(3):
        await pool.run("charlie", lambda: begun.append("charlie"))
    assert begun == ["alice", *["charlie"] * 3]
    again.cancel()


async def test_who_rested_goes_on() -> None:
    compute = partial(here, cpu_s=0.005)
    pool = FairPool(threads=1, compute=compute, name="upload")
    async with asyncio.timeout(5):
        assert [await pool.run("alice", lambda: 7) for _ in range(2)] == [7, 7]


def test_who_rests_goes_on_where_the_loop_before_is_closed() -> None:
    """All loops of a process share one pool: a timer of a closed one never comes."""
    pool = FairPool(compute=partial(here, cpu_s=0.02), name="upload")

    async def ask() -> int:
        async with asyncio.timeout(5):
            return await pool.run("alice", lambda: 7)

    assert [asyncio.run(ask()) for _ in range(2)] == [7, 7]


async def test_all_that_wait_for_one_owners_rest_go_on() -> None:
    """Also if the last of them, whose loop has the timer, has left."""
    pool = FairPool(compute=partial(here, cpu_s=0.005), name="upload")
    async with asyncio.timeout(5):
        assert await pool.run("alice", lambda: 7) == 7
        waiting = [
            asyncio.create_task(pool.run("alice", partial(int, number)))
            for number in ("1", "2", "3")
        ]
        await asyncio.sleep(0)
        waiting[-1].cancel()
        assert await asyncio.gather(*waiting[:-1]) == [1, 2]


async def test_an_owner_takes_a_tenth_of_a_processor() -> None:
    compute = partial(here, cpu_s=0.01)
    pool = FairPool(threads=1, compute=compute, name="upload")
    began = time.monotonic()
    for _ in range(2):
        await pool.run("alice", lambda: 7)
    assert time.monotonic() - began >= 9 * 0.01


async def test_what_a_helper_took_is_counted() -> None:
    """A refusal too: Malformed costs its sender what a good upload would."""
    helpers = Helpers(most_cpu_s=0.2)
    begun: list[object] = []

    def compute(work: Callable[[], Any]) -> Outcome:
        begun.append(work)
        return helpers.compute(work)

    pool = FairPool(compute=compute, name="upload")
    long, again, short = (
        partial(work_of_helpers.after_cpu_s, 60),
        partial(int, "8"),
        partial(int, "7"),
    )
    with pytest.raises(Malformed):
        await pool.run("alice", long)
    waiting = asyncio.create_task(pool.run("alice", again))
    await asyncio.sleep(0)
    assert await pool.run("charlie", short) == 7
    assert await waiting == 8
    assert begun == [long, short, again]
    helpers.close()


async def test_what_fails_says_so_and_the_next_is_done() -> None:
    pool = FairPool(threads=1, compute=here, name="upload")
    with pytest.raises(ZeroDivisionError):
        await pool.run("alice", lambda: 1 // 0)
    assert await pool.run("alice", lambda: 7) == 7


async def test_who_leaves_gives_its_turn_up(work: Work) -> None:
    pool = FairPool(threads=1, compute=here, name="upload")
    first, second = ask(pool, work, "alice"), ask(pool, work, "alice")
    await work.has_begun(1)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert await finished(work, [first])
    assert await pool.run("alice", lambda: 7) == 7
    assert work.begun == ["alice"]


async def test_who_has_left_takes_no_place_in_the_queue(work: Work) -> None:
    pool = FairPool(threads=1, waiting=2, compute=here, name="upload")
    first = ask(pool, work, "alice")
    await work.has_begun(1)
    left = [ask(pool, work, "alice") for _ in range(2)]
    await asyncio.sleep(0)
    for each in left:
        each.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    others = [ask(pool, work, "alice") for _ in range(2)]
    await asyncio.sleep(0)
    await finished(work, [first, *others])
    assert work.begun == ["alice"] * 3


async def test_uploads_of_one_organization_are_counted() -> None:
    uploads = Uploads(per_minute=3, now_s=lambda: 0.0)
    uploads.count("alice", 2)
    uploads.count("alice")
    with pytest.raises(TooMany, match="wait 20 s") as refusal:
        uploads.count("alice")
    assert refusal.value.retry_after_s == 20
    uploads.count("charlie", 100)  # at once, and then none for a while
    with pytest.raises(TooMany):
        uploads.count("charlie")
