"""Who waits for the one file writes in turns, by organization."""

import asyncio

from leyden.base.database.database import Database, open_database
from leyden.base.fair_queue import PLATFORM
from tests.base.database.writers import MANY, place_behind_many, write
from tests.metrics import Observed

_COMMITS = "leyden_commit_duration_seconds"


async def test_others_do_not_wait_for_all_writers_of_one_organization(
    sqlite_db: Database,
) -> None:
    # Eight are under way when it comes, and eight more at the most are with it.
    assert await place_behind_many(sqlite_db) <= 8 + 8


async def test_whoever_waits_together_goes_in_turns(sqlite_db: Database) -> None:
    written: list[str] = []
    async with asyncio.TaskGroup() as group:
        for owner in [*["worst"] * MANY, "calm", "other", "other"]:
            group.create_task(write(sqlite_db, owner, written))
    assert written[:5] == ["worst", "calm", "other", "worst", "other"]


async def test_the_platforms_own_writers_share_one_commit(sqlite_db: Database) -> None:
    commits = Observed.since_now(_COMMITS)
    written: list[str] = []
    async with asyncio.TaskGroup() as group:
        for _ in range(MANY):
            group.create_task(write(sqlite_db, PLATFORM, written))
    assert commits.new()[0] == 1


async def test_closing_waits_for_whoever_waits(sqlite_url: str) -> None:
    opened = await open_database(sqlite_url)
    written: list[str] = []
    writing = [
        asyncio.create_task(write(opened, "worst", written)) for _ in range(MANY)
    ]
    await asyncio.sleep(0)
    await opened.close()
    await asyncio.gather(*writing)
    assert len(written) == MANY
