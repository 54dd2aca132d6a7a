"""Limit the connections for writing to PostgreSQL, so that organizations take turns.

A connection is busy while its statement waits for a lock: writers of one organization
that lock its row could occupy all connections of the pool, and all other writers would
wait behind them. So each organization has only a few connections at a time, and the
next free one goes to the organization that has waited longest. The platform's own
writers may use all connections.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from leyden.errors import DatabaseAway
from leyden.storage.owners import OWNER, PLATFORM
from leyden.storage.rotation import Rotation

MOST_OF_ONE: Final = 4
_LEAST_S: Final = 1.0  # for a connection, which may have to be opened
_RETRY_AFTER_S: Final = 5


class Places:
    """The connections for writing, granted to organizations in turns."""

    def __init__(self, places: int, *, of_one: int = MOST_OF_ONE) -> None:
        self._free = places
        self._of_one = of_one
        self._taken: Counter[str] = Counter()
        self._waiting: Rotation[asyncio.Future[None]] = Rotation()

    @asynccontextmanager
    async def taken(self, within_s: float) -> AsyncIterator[float]:
        """Hold a place for the block; yield the remaining time to wait, in seconds.

        Raise DatabaseAway if none becomes free in time.
        """
        loop = asyncio.get_running_loop()
        began, owner = loop.time(), OWNER.get()
        await self._take(owner, within_s)
        try:
            yield max(_LEAST_S, began + within_s - loop.time())
        finally:
            self._give_back(owner)

    async def _take(self, owner: str, within_s: float) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.put(owner, turn)
        self._grant()
        try:
            async with asyncio.timeout(within_s):
                await turn
        except BaseException as error:
            if not turn.cancelled():  # it was granted in the moment of the timeout
                self._give_back(owner)
            if isinstance(error, TimeoutError):
                raise DatabaseAway(retry_after_s=_RETRY_AFTER_S) from None
            raise

    def _give_back(self, owner: str) -> None:
        self._free += 1
        self._taken[owner] -= 1
        if not self._taken[owner]:
            del self._taken[owner]
        self._grant()

    def _grant(self) -> None:
        while self._free and (found := self._waiting.take(self._may)) is not None:
            owner, turn = found
            if turn.done():  # the writer no longer waits
                continue
            self._free -= 1
            self._taken[owner] += 1
            turn.set_result(None)

    def _may(self, owner: str) -> bool:
        return owner == PLATFORM or self._taken[owner] < self._of_one
