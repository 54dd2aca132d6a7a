"""Writers of organizations, many of one at a time."""

import asyncio

from leyden.base.database.database import Database
from leyden.base.fair_queue import OWNER
from leyden.base.rules.accounts import Organization, new_id
from tests.conftest import NOW

MANY = 64


async def write(
    db: Database,
    owner: str,
    written: list[str],
    begun: asyncio.Event | None = None,
) -> None:
    OWNER.set(owner)
    made = new_id()
    async with db.transaction() as tx:
        await tx.accounts.add(
            Organization(id=made, name=f"{owner} {made}", created=NOW)
        )
        if begun is not None:
            begun.set()
    written.append(owner)


async def place_behind_many(db: Database) -> int:
    """Return how many writers of one organization are before another's."""
    written: list[str] = []
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(MANY):
            group.create_task(write(db, "worst", written, begun))
        await begun.wait()
        group.create_task(write(db, "calm", written))
    assert sorted(written) == ["calm", *["worst"] * MANY]
    return written.index("calm")
