"""Send waiting objects to the store one after the other, and read them back."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from leyden.backups.changes.wal import WalPosition
from leyden.backups.store.objects import Objects
from leyden.errors import LeydenError, SetupError
from leyden.values import Struct

_SLOW_S: Final = 60.0
_AGAIN_S: Final = (1.0, 30.0)


class WaitingChange(Struct, frozen=True, kw_only=True):
    """An object that is not in the store yet."""

    number: int
    name: str
    sealed: bytes
    position: WalPosition | None  # after it; None in the middle of a commit


class Outbox:
    """The objects of one chain, in order."""

    def __init__(
        self,
        objects: Objects,
        *,
        arrived: Callable[[WaitingChange], None],
        trouble: Callable[[str], None],
    ) -> None:
        """Call `arrived` for each stored object, `trouble` while the store fails."""
        self._objects = objects
        self._arrived = arrived
        self._trouble = trouble
        self._waiting: deque[WaitingChange] = deque()
        self._filled = asyncio.Event()
        self._empty = asyncio.Event()

    @property
    def size(self) -> int:
        """The number of waiting bytes."""
        return sum(len(each.sealed) for each in self._waiting)

    @property
    def is_empty(self) -> bool:
        """Whether the store has everything."""
        return not self._waiting

    def add(self, new: list[WaitingChange]) -> None:
        """Queue objects for sending."""
        self._waiting.extend(new)
        self._filled.set()

    async def until_empty(self, within_s: float) -> None:
        """Wait until the store has everything; raise TimeoutError."""
        if self._waiting:
            self._empty.clear()
            async with asyncio.timeout(within_s):
                await self._empty.wait()

    async def send_all(self) -> None:
        """Send waiting objects, until cancelled."""
        pause = _AGAIN_S[0]
        while True:
            if not self._waiting:
                self._filled.clear()
                await self._filled.wait()
                continue
            first = self._waiting[0]
            try:
                with self._watched():
                    await put(self._objects, first.name, first.sealed)
            except (LeydenError, OSError) as error:
                self._trouble(str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, _AGAIN_S[1])
                continue
            pause = _AGAIN_S[0]
            self._waiting.popleft()
            self._arrived(first)
            if not self._waiting:
                self._empty.set()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        words = f"the store has not responded for {_SLOW_S:.0f} s"
        slow = asyncio.get_running_loop().call_later(_SLOW_S, self._trouble, words)
        try:
            yield
        finally:
            slow.cancel()


async def put(objects: Objects, name: str, sealed: bytes) -> None:
    """Put an object into the store, and read it back."""
    await objects.put(name, sealed)
    if await objects.get(name) != sealed:
        raise SetupError(f"changes/{name} differs from what was put into the store")
