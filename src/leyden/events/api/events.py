"""The event log: a page, a long poll, or a stream."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, ExitStack

from msgspec import UNSET

from leyden.base.http import turns
from leyden.base.http.event_streams import (
    SIGN_OF_LIFE,
    EventStream,
    chunk,
    wants_events,
)
from leyden.base.http.operations import Request
from leyden.base.http.reading import ClientLeft
from leyden.errors import Away, LeydenError, Malformed
from leyden.events import log
from leyden.events.log import EventFilter, LogPart, encode, item
from leyden.events.rules import cursors
from leyden.events.rules.cursors import LATEST, Cursor
from leyden.events.rules.events import StoredEvent, parse_types, visible
from leyden.events.tails import Tails
from leyden.schemas.events import EventsAnswer, EventsQuery

_SIGN_OF_LIFE_S = 15.0
_AT_ONCE = 100


class _Reader:
    """One caller's way through the log."""

    def __init__(self, request: Request, query: EventsQuery) -> None:
        self._request = request
        self._rows = request.platform.database.reader
        self._own = request.principal.organization_id
        self._wanted = _wanted(query)
        self._types = parse_types(query.type, among=visible(request.principal.scopes))

    async def begin(self, after: str) -> Cursor | None:
        """Return the cursor to begin after; None for the oldest event."""
        if after == LATEST:
            return await log.end(self._rows, self._own)
        return cursors.parse(self._own, after) if after else None

    async def read(self, after: Cursor | None, *, limit: int) -> LogPart:
        """Return the events that are available now."""
        return await log.read(
            self._rows,
            self._own,
            self._types,
            after=after,
            limit=limit,
            wanted=self._wanted,
        )

    async def wait(
        self, tails: Tails, after: Cursor | None, *, limit: int, seconds: float
    ) -> LogPart:
        """Return the next events, or none if there are none within `seconds`."""
        until_s = time.monotonic() + seconds
        left = asyncio.ensure_future(self._request.left())
        try:
            while True:
                with tails.listening(self._own) as listener:
                    part = await self.read(after, limit=limit)
                    await self._request.confirm()  # the key may have ended meanwhile
                    rest_s = until_s - time.monotonic()
                    if part.events or part.has_more or rest_s <= 0 or tails.closed:
                        return part
                    after = part.cursor
                    listener.after = after.number
                    await asyncio.wait(
                        {listener.came, left},
                        timeout=rest_s,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                if left.done():
                    raise ClientLeft
                await turns.take(self._own)
        finally:
            left.cancel()

    def write(self, cursor: Cursor) -> str:
        """Return a cursor as callers see it."""
        return cursors.write(self._own, cursor.number, cursor.tag)


async def list_(request: Request, query: EventsQuery) -> EventsAnswer | EventStream:
    """List events."""
    reader = _Reader(request, query)
    position = query.after or query.cursor
    if query.cursor not in {"", position}:
        raise Malformed("cursor: differs from after; send one of them")
    if wants_events(request.accept):
        return await _stream(request, reader, request.last_event or position)
    after = await reader.begin(position)
    if not query.wait:
        return _answer(reader, await reader.read(after, limit=query.limit))
    tails = _tails(request)
    with _slot(request, tails):
        part = await reader.wait(tails, after, limit=query.limit, seconds=query.wait)
    return _answer(reader, part)


def _wanted(query: EventsQuery) -> EventFilter:
    ids = {"node_id": query.node_id, "order_id": query.order_id}
    return EventFilter(
        ids={name: each for name, each in ids.items() if each is not UNSET},
        since=None if query.created_after is UNSET else query.created_after,
        until=None if query.created_before is UNSET else query.created_before,
    )


async def _stream(request: Request, reader: _Reader, after: str) -> EventStream:
    tails = _tails(request)
    start = await reader.begin(after)
    first = await reader.read(start, limit=_AT_ONCE)  # or refuse, with a status

    async def chunks() -> AsyncGenerator[bytes, None]:
        part = first
        while True:
            yield b"".join(_chunks(part.events)) or _still(reader, part)
            if tails.closed:
                return
            try:
                part = await reader.wait(
                    tails, part.cursor, limit=_AT_ONCE, seconds=_SIGN_OF_LIFE_S
                )
            except (LeydenError, ClientLeft):
                return  # who is still there asks again, and is told why

    slot = ExitStack()
    slot.enter_context(_slot(request, tails))
    return EventStream(chunks(), ended=slot.close)


def _still(reader: _Reader, part: LogPart) -> bytes:
    """Return a sign of life: the cursor, which may have passed what is not shown."""
    return chunk(reader.write(part.cursor)) if part.cursor.number else SIGN_OF_LIFE


def _chunks(events: list[StoredEvent]) -> list[bytes]:
    return [chunk(each.id, encode(item(each))) for each in events]


def _answer(reader: _Reader, part: LogPart) -> EventsAnswer:
    return EventsAnswer(
        events=[item(each) for each in part.events],
        cursor=(cursor := reader.write(part.cursor)),
        has_more=part.has_more,
        next_cursor=cursor,
    )


def _slot(request: Request, tails: Tails) -> AbstractContextManager[None]:
    who = request.principal
    return tails.slot(who.key_id, who.organization_id)


def _tails(request: Request) -> Tails:
    if (tails := request.platform.tails) is None:
        raise Away(
            "this platform can't wait for events; send the request without `wait`"
        )
    return tails
