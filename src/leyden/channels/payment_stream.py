"""Listen for payment updates from the treasury.

Many updates are booked at once, so that they share commits. An update that
cannot be booked because the database is unavailable is not lost: the next
sweep finds it.
"""

import asyncio
import logging
from contextlib import aclosing

from leyden.channels.checkout import record_payments
from leyden.channels.rules.payments import PaymentUpdate
from leyden.channels.shop import EVERYTHING, SWEEP, Shop
from leyden.errors import LeydenError

log = logging.getLogger(__name__)

# More would block the event loop for longer than other requests should wait.
_AT_ONCE = 512
_MOST_WAITING = 8 * _AT_ONCE


async def listen(shop: Shop, *, pause_s: float = 1.0) -> None:
    """Book payment updates as they arrive, until cancelled.

    Any number of processes may listen: an update that arrives twice is booked
    once. Whenever the treasury is reachable again after an outage, the
    payments of that time are looked up.
    """
    while True:
        try:
            async with shop.database.transaction() as tx:
                await tx.tasks.put(SWEEP, EVERYTHING, due=shop.clock())
            await book_updates(shop)
        except* LeydenError as group:
            why = {str(error) for error in group.exceptions}
            log.warning("can't follow payments", extra={"why": ", ".join(sorted(why))})
        except* Exception:  # a message that we cannot parse: the next ones may be fine
            log.exception("can't parse the treasury's response")
        await asyncio.sleep(pause_s)


async def book_updates(shop: Shop) -> None:
    """Book updates until the stream ends or an update cannot be booked.

    The next batch gathers while one is being committed; updates are booked in
    the order in which they arrive.
    """
    queue: asyncio.Queue[PaymentUpdate] = asyncio.Queue(_MOST_WAITING)

    async def book() -> None:
        while True:
            batch = [await queue.get()]
            while len(batch) < _AT_ONCE and not queue.empty():
                batch.append(queue.get_nowait())
            await record_payments(shop, batch, now=shop.clock())

    async with asyncio.TaskGroup() as group, aclosing(shop.payments.watch()) as updates:
        group.create_task(book())
        async for update in updates:
            await queue.put(update)
