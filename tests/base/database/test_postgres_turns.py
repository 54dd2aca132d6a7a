"""Who waits for a connection to PostgreSQL writes in turns, by organization."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.database.postgres_connections import MAX_OF_ONE, WriteSlots
from leyden.base.fair_queue import OWNER, PLATFORM
from leyden.errors import DatabaseAway
from tests.base.database.writers import write

_CONNECTIONS = 16


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Database]:
    opened = await open_database(postgres_url)
    yield opened
    await opened.close()


async def test_a_connection_stays_for_others_while_one_holds_all_it_may(
    database: Database,
) -> None:
    """As writers of one organization do that wait for a lock on its row."""
    held, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def hold() -> None:
        OWNER.set("worst")
        async with database.transaction():
            begun.release()
            await held.wait()

    written: list[str] = []
    async with asyncio.TaskGroup() as group:
        for _ in range(2 * _CONNECTIONS):
            group.create_task(hold())
        for _ in range(MAX_OF_ONE):
            await begun.acquire()
        try:
            async with asyncio.timeout(30):
                for owner in ("calm", PLATFORM):
                    await asyncio.create_task(write(database, owner, written))
        finally:
            held.set()
    assert written == ["calm", PLATFORM]


async def test_places_go_in_turns_and_the_platform_has_as_many_as_there_are() -> None:
    slots, went = WriteSlots(4, of_one=2), list[str]()
    done = asyncio.Event()

    async def go(owner: str) -> None:
        OWNER.set(owner)
        async with slots.taken(5):
            went.append(owner)
            await done.wait()

    owners = ["worst"] * 5 + ["calm"] * 2 + [PLATFORM] * 2
    going = [asyncio.create_task(go(owner)) for owner in owners]
    await asyncio.sleep(0.05)
    assert went == ["worst", "worst", "calm", "calm"]
    done.set()
    await asyncio.gather(*going)
    assert went[4:] == ["worst", PLATFORM, "worst", PLATFORM, "worst"]
    going = [asyncio.create_task(go(PLATFORM)) for _ in range(4)]
    await asyncio.gather(*going)
    assert went[9:] == [PLATFORM] * 4


async def test_who_waits_too_long_or_leaves_takes_no_place() -> None:
    slots = WriteSlots(1, of_one=1)
    async with slots.taken(5):
        with pytest.raises(DatabaseAway):
            async with slots.taken(0.01):
                pytest.fail("there is no place")
        leaves = asyncio.create_task(_stay(slots))
        await asyncio.sleep(0)
        leaves.cancel()
    await asyncio.wait([leaves])
    async with asyncio.timeout(1), slots.taken(1):
        pass


async def test_who_leaves_just_when_it_is_their_turn_gives_the_place_back() -> None:
    slots = WriteSlots(1, of_one=1)
    leaving = slots.taken(5)
    await leaving.__aenter__()
    late = asyncio.create_task(_stay(slots))
    await asyncio.sleep(0)
    await leaving.__aexit__(None, None, None)
    late.cancel()
    await asyncio.wait([late])
    async with asyncio.timeout(1), slots.taken(1):
        pass


async def _stay(slots: WriteSlots) -> None:
    async with slots.taken(5):
        await asyncio.sleep(60)
