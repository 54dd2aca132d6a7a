"""Addresses are chosen by one cluster at a time, on a whole host."""

import asyncio

from leyden_workshop.devcluster.network import choosing


async def test_one_at_a_time_chooses_addresses() -> None:
    chosen: list[str] = []
    inside, may_end = asyncio.Event(), asyncio.Event()

    async def choose(name: str) -> None:
        async with choosing():
            chosen.append(f"{name} begins")
            inside.set()
            await may_end.wait()
            chosen.append(f"{name} ends")

    first = asyncio.create_task(choose("first"))
    await inside.wait()
    second = asyncio.create_task(choose("second"))
    await asyncio.sleep(0)  # it finds the place taken
    may_end.set()
    await asyncio.gather(first, second)
    assert chosen == ["first begins", "first ends", "second begins", "second ends"]
