"""Sending what waits for subscriptions, without a queue that runs."""

from datetime import timedelta

from leyden.base.tasks.work import Work
from leyden.events.dispatchers import Dispatcher, deliver
from leyden.events.rows.subscriptions import SUBSCRIPTIONS


async def send_all(dispatcher: Dispatcher) -> None:
    """Send what is due now, until nothing is."""
    for _ in range(100):
        now = dispatcher.clock()
        async with dispatcher.database.transaction() as tx:
            claims = await tx.tasks.claim(
                SUBSCRIPTIONS, now=now, until=now + timedelta(seconds=30), limit=10
            )
        if not claims:
            return
        for claim in claims:
            work = Work(dispatcher.database, claim)
            await deliver(dispatcher, work)
            if not work.settled:
                async with work.transaction() as tx:
                    await work.done(tx)
    raise AssertionError("the queue does not come to rest")
