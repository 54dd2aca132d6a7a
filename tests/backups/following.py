"""A process that follows a home's database, in this one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leyden.backups import running
from leyden.backups.changes.following import Follower
from leyden.backups.changes.state import Following
from leyden.base.platform import Platform
from tests.backups.conftest import StoredHome
from tests.waiting import until


@asynccontextmanager
async def following(case: StoredHome) -> AsyncIterator[list[Following]]:
    """Follow the home's database for the block; yield what is told."""
    followings: list[Following] = []
    follower = Follower(
        case.given, case.programs, on_progress=followings.append, every_s=0.01
    )
    task = asyncio.create_task(follower.follow())
    try:
        yield followings
        follower.stop()
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def with_a_base(
    case: StoredHome, platform: Platform
) -> AsyncIterator[list[Following]]:
    """Follow the database, with a backup to begin with."""
    async with following(case) as progress:
        await until(lambda: bool(progress and progress[-1].chain))
        await running.run(platform, case.programs)
        yield progress


async def sent(platform: Platform, followings: list[Following]) -> None:
    """Wait until all that is committed now is in the store."""
    now = platform.clock().timestamp()
    await until(lambda: bool(followings) and followings[-1].until > now)


async def say(platform: Platform, what: str) -> None:
    """Commit something that can be found again."""
    async with platform.database.transaction() as tx:
        await tx.audit.add(at=platform.clock(), actor="ada", action=what, subject="")


async def said(platform: Platform) -> list[str]:
    found = await platform.database.reader.audit.latest(limit=1_000)
    return [each.action for each in found if each.actor == "ada"][::-1]
