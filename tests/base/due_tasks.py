"""Claiming what is due, as a worker does: it looks before it begins a transaction."""

from datetime import datetime, timedelta

from leyden.base.database.database import Database
from leyden.base.tasks.rows.tasks import TaskClaim


async def claim_due(
    database: Database, kind: str, *, now: datetime, claim_for: timedelta
) -> list[TaskClaim]:
    """Claim the tasks of this kind that are due."""
    due = await database.reader.tasks.next_due(kind, now=now)
    if due is None or due > now:
        return []
    async with database.transaction() as tx:
        return await tx.tasks.claim(kind, now=now, until=now + claim_for, limit=100)
