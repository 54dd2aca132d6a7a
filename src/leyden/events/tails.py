"""Waiting for events: woken by the commit that logged them, never by looking.

A reader that waits costs a future and nothing else. PostgreSQL tells every process of a
commit; where the database is one file, another process can write to it too (a command
of the operator's), and an announcement may be lost. So readers are looked after every
few seconds, all at once, and only after a commit.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from leyden.base.database.database import Database
from leyden.base.http.limits import TOGETHER
from leyden.errors import Away, TooMany
from leyden.events.rows.events import ALL_NEWS, NEWS

_WAIT_S: Final = 5
# A reader that is woken reads, in half a millisecond. All of an organization's readers
# are woken together, and then not again for this long for each of them: they take at
# most a tenth of the event loop, however many events there are.
_REST_S: Final = 0.005


class WaitingReader:
    """A waiting reader, and the number of the last event that it has."""

    __slots__ = ("after", "came")

    def __init__(self) -> None:
        self.came = asyncio.get_running_loop().create_future()
        self.after = 0

    def wake(self) -> None:
        """End the waiting; a second call has no effect."""
        if not self.came.done():
            self.came.set_result(None)


class Tails:
    """The readers that wait for events in this process."""

    def __init__(self, database: Database, *, limit: int = 20) -> None:
        self._database = database
        self._most = limit
        self._waiting: dict[str, set[WaitingReader]] = {}
        self._held: Counter[str] = Counter()
        # Organizations whose readers were just woken, and whether to wake them again.
        self._resting: dict[str, bool] = {}
        self._looking: asyncio.Task[None] | None = None
        self._closed = False
        database.listen(self._wake)

    def __len__(self) -> int:
        """Return the number of waiting readers."""
        return sum(map(len, self._waiting.values()))

    @property
    def closed(self) -> bool:
        """Whether the platform is shutting down."""
        return self._closed

    @contextmanager
    def slot(self, key_id: str, organization_id: str) -> Iterator[None]:
        """Take a place of a key and its organization; raise TooMany if it has none."""
        of_all = self._most * TOGETHER
        for who, id_, limit in (
            ("this key has", key_id, self._most),
            ("your organization's keys have", organization_id, of_all),
        ):
            if self._held[id_] >= limit:
                raise TooMany(
                    f"{who} {limit} requests waiting for events; close one, or send "
                    "the request without `wait`",
                    retry_after_s=_WAIT_S,
                )
        self._held.update((key_id, organization_id))
        try:
            yield
        finally:
            for id_ in (key_id, organization_id):
                self._held[id_] -= 1
                if not self._held[id_]:
                    del self._held[id_]

    @contextmanager
    def listening(self, organization_id: str) -> Iterator[WaitingReader]:
        """Yield a listener that is woken by every event from now on.

        Enter the block before you read, and set `after` to the last event read.
        """
        listener = WaitingReader()
        if self._closed:
            listener.wake()
        waiting = self._waiting.setdefault(organization_id, set())
        waiting.add(listener)
        if self._looking is None:
            self._looking = asyncio.create_task(self._check(), name="tails")
        try:
            yield listener
        finally:
            waiting.discard(listener)
            if not waiting and self._waiting.get(organization_id) is waiting:
                del self._waiting[organization_id]

    async def close(self) -> None:
        """Wake all readers, now and later: the platform shuts down."""
        self._closed = True
        for waiting in self._waiting.values():
            for listener in waiting:
                listener.wake()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def _wake(self, kinds: Collection[str] | None) -> None:
        if not self._waiting:
            return
        if kinds is None or ALL_NEWS in kinds:
            organizations = list(self._waiting)
        else:
            organizations = [
                kind.removeprefix(NEWS) for kind in kinds if kind.startswith(NEWS)
            ]
        for organization_id in organizations:
            self._wake_readers(organization_id)

    def _wake_readers(self, organization_id: str) -> None:
        """Wake an organization's readers, at once or after their rest."""
        if organization_id in self._resting:
            self._resting[organization_id] = True
            return
        if listeners := self._waiting.get(organization_id):
            self._resting[organization_id] = False
            loop, rest_s = asyncio.get_running_loop(), _REST_S * len(listeners)
            loop.call_later(rest_s, self._end_rest, organization_id)
            for listener in listeners:
                listener.wake()

    def _end_rest(self, organization_id: str) -> None:
        if self._resting.pop(organization_id):
            self._wake_readers(organization_id)

    async def _check(self) -> None:
        """Poll for waiting readers, until there are none."""
        edition: Hashable = None
        while self._waiting:
            await asyncio.sleep(self._database.look_every_s)
            with suppress(Away):
                newest = await self._database.edition()
                if newest != edition:
                    await self._compare()
                    edition = newest
        self._looking = None

    async def _compare(self) -> None:
        ends = await self._database.reader.events.last(tuple(self._waiting))
        for organization_id, end in ends.items():
            waiting = self._waiting.get(organization_id, ())
            if any(listener.after < end.number for listener in waiting):
                self._wake_readers(organization_id)
