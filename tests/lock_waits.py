"""Waiting until something waits for a lock that the test holds."""

import asyncio

from leyden.base.database.database import Database
from leyden.base.database.statements import Statement

_WAITING = Statement(
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


async def until_stuck(database: Database, *tasks: "asyncio.Task[object]") -> None:
    """Return once each of these waits for a lock, or one of them has ended.

    On SQLite they wait for their turn, and have not begun.
    """
    if database.is_alone:
        return
    waiting = 0
    while waiting < len(tasks) and not any(task.done() for task in tasks):
        async with database.transaction() as tx:
            ((waiting,),) = await tx.run(_WAITING)
