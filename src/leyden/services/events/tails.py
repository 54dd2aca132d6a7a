"""Waiting for events: woken by the commit that logged them, never by looking.

A reader that waits costs a future and nothing else. PostgreSQL tells every process of a
commit; where the database is one file, another process can write to it too (a command
of the operator's), so its readers are looked after once a second, all at once, and only
after a commit.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from leyden.errors import Away, TooMany
from leyden.storage.database import Database
from leyden.storage.events import ALL_NEWS, NEWS

_LOOK_EVERY_S: Final = 1.0
_WAIT_S: Final = 5


class Listener:
    """One who waits, and the number of the last event that is known there."""

    __slots__ = ("after", "came")

    def __init__(self) -> None:
        self.came = asyncio.get_running_loop().create_future()
        self.after = 0

    def tell(self) -> None:
        """End the waiting; a second call has no effect."""
        if not self.came.done():
            self.came.set_result(None)


class Tails:
    """Those who wait for events in this process."""

    def __init__(self, database: Database, *, most: int = 20) -> None:
        self._database = database
        self._most = most
        self._waiting: dict[str, set[Listener]] = {}
        self._held: Counter[str] = Counter()
        self._looking: asyncio.Task[None] | None = None
        self._closed = False
        database.listen(self._wake)

    def __len__(self) -> int:
        """Return how many wait."""
        return sum(map(len, self._waiting.values()))

    @property
    def closed(self) -> bool:
        """Whether the platform is shutting down."""
        return self._closed

    def hold(self, key_id: str) -> None:
        """Take one of a key's places; raise TooMany if it has none."""
        if self._held[key_id] >= self._most:
            raise TooMany(
                f"this key has {self._most} requests that wait for events; end one, or "
                "read without `wait`",
                retry_after_s=_WAIT_S,
            )
        self._held[key_id] += 1

    def release(self, key_id: str) -> None:
        """Release the place."""
        self._held[key_id] -= 1
        if not self._held[key_id]:
            del self._held[key_id]

    @contextmanager
    def listening(self, organization_id: str) -> Iterator[Listener]:
        """Yield a listener, who is told of every commit from now on.

        Begin before you read, and set `after` to what was read.
        """
        news = Listener()
        if self._closed:
            news.tell()
        waiting = self._waiting.setdefault(organization_id, set())
        waiting.add(news)
        if self._looking is None and self._database.is_alone:
            self._looking = asyncio.create_task(self._look(), name="tails")
        try:
            yield news
        finally:
            waiting.discard(news)
            if not waiting and self._waiting.get(organization_id) is waiting:
                del self._waiting[organization_id]

    async def close(self) -> None:
        """Wake all who wait, now and later: the platform shuts down."""
        self._closed = True
        self._tell(list(self._waiting))
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def _wake(self, kinds: Collection[str] | None) -> None:
        if not self._waiting:
            return
        if kinds is None or ALL_NEWS in kinds:
            self._tell(list(self._waiting))
            return
        for kind in kinds:
            if kind.startswith(NEWS):
                self._tell([kind.removeprefix(NEWS)])

    def _tell(self, organization_ids: Collection[str]) -> None:
        for organization_id in organization_ids:
            for news in self._waiting.get(organization_id, ()):
                news.tell()

    async def _look(self) -> None:
        """Look after those who wait, until nobody does."""
        edition: int | None = None
        while self._waiting:
            await asyncio.sleep(_LOOK_EVERY_S)
            newest = self._database.edition()
            if newest != edition:
                edition = newest
                with suppress(Away):
                    await self._compare()
        self._looking = None

    async def _compare(self) -> None:
        ends = await self._database.reader.events.last(tuple(self._waiting))
        for organization_id, end in ends.items():
            for news in self._waiting.get(organization_id, ()):
                if news.after < end.number:
                    news.tell()
