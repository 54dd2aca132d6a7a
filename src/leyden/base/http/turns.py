"""Turns of organizations on the event loop: one request of each in a pass of the loop.

Most requests are answered without waiting. If all fifty connections of an organization
were answered in a row, another's request would wait for fifty answers. Work of some
milliseconds is followed by a rest, else each pass of others would wait for it.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary

from leyden.base.fair_queue import OWNER, FairQueue


class Turns:
    """The queue of requests on one event loop, by organization."""

    def __init__(self) -> None:
        self._begun: set[str] = set()  # in this pass of the loop
        self._resting: set[str] = set()
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    async def take(self, organization_id: str) -> None:
        """Wait for a pass in which no other request of the organization runs."""
        if self._may_begin(organization_id):
            self._begin(organization_id)
            return
        while True:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.put(organization_id, turn)
            await turn
            if organization_id not in self._resting:  # since the turn was given
                return

    def rest(self, organization_id: str, seconds: float) -> None:
        """Let nothing of the organization begin for so long."""
        self._resting.add(organization_id)
        asyncio.get_running_loop().call_later(seconds, self._rested, organization_id)

    def _rested(self, organization_id: str) -> None:
        self._resting.discard(organization_id)
        if not self._begun:  # else the next pass comes by itself
            self._next_pass()

    def _begin(self, organization_id: str) -> None:
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._next_pass)
        self._begun.add(organization_id)

    def _next_pass(self) -> None:
        self._begun.clear()
        while (found := self._waiting.take(self._may_begin)) is not None:
            organization_id, turn = found
            if not turn.done():  # its caller is still there
                self._begin(organization_id)
                turn.set_result(None)

    def _may_begin(self, organization_id: str) -> bool:
        return not (organization_id in self._begun or organization_id in self._resting)


_ALL: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Turns]] = WeakKeyDictionary()


async def begin(organization_id: str) -> None:
    """Wait for a request's turn; what it writes is the organization's from here on."""
    OWNER.set(organization_id)
    await take(organization_id)


async def take(organization_id: str) -> None:
    """Wait for the organization's turn on this event loop."""
    await _of_this_loop().take(organization_id)


async def work(organization_id: str, does: Callable[[], None]) -> None:
    """Do what takes milliseconds in the organization's turn; then it rests."""
    turns = _of_this_loop()
    await turns.take(organization_id)
    began = time.perf_counter()
    try:
        does()
    finally:
        turns.rest(organization_id, 9 * (time.perf_counter() - began))


def _of_this_loop() -> Turns:
    return _ALL.setdefault(asyncio.get_running_loop(), Turns())
