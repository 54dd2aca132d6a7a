"""The thread for slow parsing: owners take turns, and nobody fills the queue."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from leyden.base.http.parsing import ParsingThread
from leyden.errors import TooMany


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


def ask(thread: ParsingThread, work: Work, owner: str) -> asyncio.Task[str]:
    return asyncio.create_task(thread.run(owner, work.of(owner)))


async def finished(work: Work, tasks: list[asyncio.Task[str]]) -> list[str]:
    for _ in tasks:
        work.done.release()
    return await asyncio.gather(*tasks)


async def test_parsing_serves_owners_in_turn(work: Work) -> None:
    thread = ParsingThread()
    tasks = [ask(thread, work, "alice") for _ in range(3)]
    await work.has_begun(1)
    tasks += [ask(thread, work, each) for each in ("bob", "bob", "charlie")]
    await asyncio.sleep(0)
    names = await finished(work, tasks)
    assert work.begun == ["alice", "alice", "bob", "charlie", "alice", "bob"]
    assert all(name.startswith("parsing") for name in names)


async def test_parsing_refuses_an_owner_with_too_much_waiting(work: Work) -> None:
    thread = ParsingThread(waiting=2)
    tasks = [ask(thread, work, "alice")]
    await work.has_begun(1)
    tasks += [ask(thread, work, "alice") for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(TooMany) as refusal:
        async with asyncio.timeout(5):
            await thread.run("alice", work.of("alice"))
    assert refusal.value.retry_after_s == 1
    tasks.append(ask(thread, work, "charlie"))
    await asyncio.sleep(0)
    await finished(work, tasks)
    assert sorted(work.begun) == ["alice"] * 3 + ["charlie"]


async def test_parsing_goes_on_when_work_fails() -> None:
    thread = ParsingThread()
    with pytest.raises(ZeroDivisionError):
        await thread.run("alice", lambda: 1 // 0)
    assert await thread.run("alice", lambda: 7) == 7


async def test_parsing_skips_work_whose_caller_has_left(work: Work) -> None:
    thread = ParsingThread()
    first, second = ask(thread, work, "alice"), ask(thread, work, "alice")
    await work.has_begun(1)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert await finished(work, [first])
    assert await thread.run("alice", lambda: 7) == 7
    assert work.begun == ["alice"]


def test_parsing_serves_one_loop_after_another() -> None:
    thread = ParsingThread()
    assert [asyncio.run(thread.run("alice", lambda: 7)) for _ in range(2)] == [7, 7]
