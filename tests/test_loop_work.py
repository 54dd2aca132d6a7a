"""What holds the event loop is seen, and what is done beside it is not counted."""

import asyncio

from tests.loop_work import MAX_CALLS, Longest


def compute() -> None:
    for _ in range(MAX_CALLS):
        abs(-1)


async def test_work_on_the_loop_is_counted_until_the_next_turn() -> None:
    async def in_one() -> None:
        compute()

    async def in_turns() -> None:
        for _ in range(10):
            for _ in range(MAX_CALLS // 10):
                abs(-1)
            await asyncio.sleep(0)

    with Longest() as held:
        await asyncio.create_task(in_one())
    assert held.calls >= MAX_CALLS
    assert not held.is_short
    with Longest() as shared:
        await asyncio.create_task(in_turns())
    assert MAX_CALLS // 10 <= shared.calls < MAX_CALLS // 5
    assert shared.is_short


async def test_work_beside_the_loop_is_not_counted() -> None:
    async def beside() -> None:
        await asyncio.to_thread(compute)

    with Longest() as longest:
        await asyncio.create_task(beside())
    assert longest.calls < 1_000
