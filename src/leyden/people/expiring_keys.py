"""Telling organizations that an API key ends soon."""

from datetime import timedelta
from typing import Final

from leyden.base.rules.times import Clock
from leyden.base.tasks.steps import ClaimedTask
from leyden.people import people_events

EXPIRING_KEYS: Final = "expiring keys"  # a kind of task
NOTICE: Final = timedelta(days=7)
_LOOK_EVERY: Final = timedelta(hours=1)
_AT_ONCE: Final = 100


async def announce(due: ClaimedTask, *, clock: Clock) -> None:
    """Log each key that ends soon once, also those that a killed process missed."""
    now = clock()
    async with due.transaction() as tx:
        keys = await tx.keys.expiring(now=now, within=NOTICE, most=_AT_ONCE)
        tx.events.add(*map(people_events.of_expiring_key, keys), at=now)
        again = now if len(keys) == _AT_ONCE else now + _LOOK_EVERY
        await due.reschedule(tx, due=again)
