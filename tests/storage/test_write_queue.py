"""Who waits for the one file writes in turns, by organization."""

import asyncio

from leyden.domain.accounts import Organization, new_id
from leyden.storage.database import Database, open_database
from leyden.storage.owners import OWNER, PLATFORM
from tests.conftest import NOW
from tests.metrics import Observed

_MANY = 64
_COMMITS = "leyden_commit_duration_seconds"


async def write(db: Database, owner: str, written: list[str]) -> None:
    OWNER.set(owner)
    made = new_id()
    async with db.transaction() as tx:
        await tx.accounts.add(
            Organization(id=made, name=f"{owner} {made}", created=NOW)
        )
    written.append(owner)


async def test_others_do_not_wait_for_all_writers_of_one_organization(
    sqlite_db: Database,
) -> None:
    written: list[str] = []
    owners = [*["worst"] * _MANY, "calm", *["other"] * 10]
    async with asyncio.TaskGroup() as group:
        for owner in owners:
            group.create_task(write(sqlite_db, owner, written))
    assert sorted(written) == sorted(owners)
    # In the first group with it are eight of each of the others, at the most.
    assert written.index("calm") <= 8 + 8


async def test_the_platforms_own_writers_share_one_commit(sqlite_db: Database) -> None:
    commits = Observed.since_now(_COMMITS)
    written: list[str] = []
    async with asyncio.TaskGroup() as group:
        for _ in range(_MANY):
            group.create_task(write(sqlite_db, PLATFORM, written))
    assert commits.new()[0] == 1


async def test_closing_waits_for_whoever_waits(sqlite_url: str) -> None:
    opened = await open_database(sqlite_url)
    written: list[str] = []
    writing = [
        asyncio.create_task(write(opened, "worst", written)) for _ in range(_MANY)
    ]
    await asyncio.sleep(0)
    await opened.close()
    await asyncio.gather(*writing)
    assert len(written) == _MANY
