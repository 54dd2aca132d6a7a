"""Hearing of payments as the treasury tells of them.

Many are booked at once, so that they share their commits. Whatever cannot be booked,
because the database is away, is not lost: the next sweep finds it.
"""

import asyncio
from contextlib import aclosing

from leyden import logs
from leyden.domain.payments import PaymentUpdate
from leyden.errors import LeydenError
from leyden.services.checkout import record_payments
from leyden.services.shop import EVERYTHING, SWEEP, Shop

log = logs.get()

# More would keep the event loop for longer than anybody else should wait.
_AT_ONCE = 512
_MOST_WAITING = 8 * _AT_ONCE


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
    heard: asyncio.Queue[PaymentUpdate] = asyncio.Queue(_MOST_WAITING)

    async def book() -> None:
        while True:
            batch = [await heard.get()]
            while len(batch) < _AT_ONCE and not heard.empty():
                batch.append(heard.get_nowait())
            await record_payments(shop, batch, now=shop.clock())

    async with asyncio.TaskGroup() as group, aclosing(shop.payments.watch()) as told:
        group.create_task(book())
        async for update in told:
            await heard.put(update)
