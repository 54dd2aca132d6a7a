"""Hearing of payments as the treasury tells of them.

Many are booked at once, so that they share their commits. Whatever cannot be booked,
because the database is away, is not lost: the next sweep finds it.
"""

import asyncio
from contextlib import aclosing

from leyden import logs
from leyden.domain.payments import Sighting
from leyden.errors import LeydenError
from leyden.services.settlement import payments_seen
from leyden.services.shop import EVERYTHING, SWEEP, Shop

log = logs.get()

_AT_ONCE = 2_048
_MOST_WAITING = 2 * _AT_ONCE


async def listen(shop: Shop, *, pause_s: float = 1.0) -> None:
    """Book payments as they are told of, until cancelled.

    Any number of processes may listen: what is told twice is booked once. Each time
    the treasury is heard again after a silence, what it told meanwhile is looked for.
    """
    while True:
        try:
            async with shop.database.transaction() as tx:
                await tx.tasks.put(SWEEP, EVERYTHING, due=shop.clock())
            await hear(shop)
        except* LeydenError as group:
            why = {str(error) for error in group.exceptions}
            log.warning("not hearing of payments", why=", ".join(sorted(why)))
        except* Exception:  # whatever the treasury talks: the next word may make sense
            log.exception("the treasury is not understood")
        await asyncio.sleep(pause_s)


async def hear(shop: Shop) -> None:
    """Book what is told until the watch ends, or something cannot be booked.

    While one batch is on its way to the disk the next one gathers; the order in which
    things were told is kept.
    """
    heard: asyncio.Queue[Sighting] = asyncio.Queue(_MOST_WAITING)

    async def book() -> None:
        while True:
            batch = [await heard.get()]
            while len(batch) < _AT_ONCE and not heard.empty():
                batch.append(heard.get_nowait())
            await payments_seen(shop, batch, now=shop.clock())

    async with asyncio.TaskGroup() as group, aclosing(shop.payments.watch()) as told:
        group.create_task(book())
        async for sighting in told:
            await heard.put(sighting)
