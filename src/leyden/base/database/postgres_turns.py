"""Limit the connections for writing to PostgreSQL, so that organizations take turns.

A connection is busy while its statement waits for a lock: writers of one organization
that lock its row could occupy all connections of the pool, and all other writers would
wait behind them. So each organization has only a few connections at a time, and the
next free one goes to the organization that has waited longest. The platform's own
writers may use all connections.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from leyden.base.database.owners import OWNER, PLATFORM
from leyden.base.fair_queue import FairSlots
from leyden.errors import DatabaseAway

MOST_OF_ONE: Final = 4
_LEAST_S: Final = 1.0  # for a connection, which may have to be opened
_RETRY_AFTER_S: Final = 5


class WriteSlots:
    """The connections for writing, granted to organizations in turns."""

    def __init__(self, number: int, *, of_one: int = MOST_OF_ONE) -> None:
        self._slots = FairSlots(
            number, lambda owner: number if owner == PLATFORM else of_one
        )

    @asynccontextmanager
    async def taken(self, within_s: float) -> AsyncIterator[float]:
        """Hold a slot for the block; yield the remaining time to wait, in seconds.

        Raise DatabaseAway if none becomes free in time.
        """
        loop = asyncio.get_running_loop()
        began, owner = loop.time(), OWNER.get()
        try:
            async with asyncio.timeout(within_s):
                await self._slots.acquire(owner)
        except TimeoutError:
            raise DatabaseAway(retry_after_s=_RETRY_AFTER_S) from None
        try:
            yield max(_LEAST_S, began + within_s - loop.time())
        finally:
            self._slots.release(owner)
