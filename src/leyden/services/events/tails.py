"""Waiting for events: woken by the commit that logged them, never by looking.

A reader that waits costs a future and nothing else. PostgreSQL tells every process of a
commit; where the database is one file, another process can write to it too (a command
of the operator's), and an announcement may be lost. So readers are looked after every
few seconds, all at once, and only after a commit.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from leyden.errors import Away, TooMany
from leyden.services.shared.limits import TOGETHER
from leyden.storage.database import Database
from leyden.storage.events import ALL_NEWS, NEWS

_WAIT_S: Final = 5
# A reader that is woken reads, in half a millisecond. An organization with a hundred
# readers would hold up everybody else for 50 ms at each of its events.
_MOST_IN_A_TURN: Final = 5
_TURN_S: Final = 0.025


class Listener:
    """A waiting reader, and the number of the last event that it has."""

    __slots__ = ("after", "came")

    def __init__(self) -> None:
        self.came = asyncio.get_running_loop().create_future()
        self.after = 0

    def wake(self) -> None:
        """End the waiting; a second call has no effect."""
        if not self.came.done():
            self.came.set_result(None)


class Turn:
    """A short time, the number of readers woken in it, and those that are next."""

    __slots__ = ("due", "woken")

    def __init__(self) -> None:
        self.woken = 0
        self.due: dict[Listener, None] = {}

    def wake(self) -> None:
        """Wake as many readers as the turn has left."""
        for listener in list(self.due)[: _MOST_IN_A_TURN - self.woken]:
            del self.due[listener]
            listener.wake()
            self.woken += 1


class Tails:
    """The readers that wait for events in this process."""

    def __init__(self, database: Database, *, most: int = 20) -> None:
        self._database = database
        self._most = most
        self._waiting: dict[str, set[Listener]] = {}
        self._held: Counter[str] = Counter()
        self._turns: dict[str, Turn] = {}  # of organizations with recent events
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
    def place(self, key_id: str, organization_id: str) -> Iterator[None]:
        """Take a place of a key and its organization; raise TooMany if it has none."""
        of_all = self._most * TOGETHER
        for who, id_, most in (
            ("this key has", key_id, self._most),
            ("your organization's keys have", organization_id, of_all),
        ):
            if self._held[id_] >= most:
                raise TooMany(
                    f"{who} {most} requests waiting for events; close one, or send "
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
    def listening(self, organization_id: str) -> Iterator[Listener]:
        """Yield a listener that is woken by every event from now on.

        Enter the block before you read, and set `after` to the last event read.
        """
        listener = Listener()
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
            self._wake_all(list(self._waiting))
            return
        for kind in kinds:
            if kind.startswith(NEWS):
                self._wake_all([kind.removeprefix(NEWS)])

    def _wake_all(self, organization_ids: Collection[str]) -> None:
        for organization_id in organization_ids:
            self._wake_in_turn(organization_id, self._waiting.get(organization_id, ()))

    def _wake_in_turn(
        self, organization_id: str, listeners: Iterable[Listener]
    ) -> None:
        """Wake a few at once, and the others soon."""
        turn = self._turns.get(organization_id)
        if turn is None:
            if not (listeners := dict.fromkeys(listeners)):
                return
            turn = self._turns[organization_id] = Turn()
            self._end_later(organization_id)
        turn.due.update(dict.fromkeys(listeners))
        turn.wake()

    def _end_later(self, organization_id: str) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(_TURN_S, self._end_turn, organization_id)

    def _end_turn(self, organization_id: str) -> None:
        turn = self._turns[organization_id]
        if not turn.due:
            del self._turns[organization_id]
            return
        turn.woken = 0
        turn.wake()
        self._end_later(organization_id)

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
            late = [listener for listener in waiting if listener.after < end.number]
            self._wake_in_turn(organization_id, late)
