"""Server-sent events that tell an open page that it is out of date.

An event says only that something changed; the page then fetches itself, so
that each thing is rendered in one place. The page sends a mark of what it
shows, so that no change between rendering and the first check is missed.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

from starlette.responses import Response

from leyden.base.database.database import Database
from leyden.base.pages.open_streams import OpenStreams
from leyden.base.pages.visits import Visit
from leyden.errors import LeydenError

Read = Callable[[], Awaitable[Hashable]]

_LOOK_EVERY_S: Final = 0.5  # reading the stamps of 100 nodes takes 0.2 ms
_SIGN_OF_LIFE: Final = 30  # looks
_LOOKS: Final = 7_200  # then the browser asks anew, with a session that may have ended
_NOTHING_YET: Final = object()
_CHANGED: Final = b"event: changed\ndata: 1\n\n"


def stream(visit: Visit, read: Read) -> Response:
    """Send `changed` whenever `read` differs from what the page shows.

    Raise TooMany for a person who has too many of these.
    """
    mark = visit.query.text("seen")
    slot = ExitStack()
    slot.enter_context(visit.streams.slot(visit.user.person.id))
    return _Stream(read, visit.streams, slot, partial(_may, visit), mark=mark)


def after_commits(database: Database, read: Read) -> Read:
    """Return a `read` that runs only after a commit.

    For pages that show only the database: checking ten thousand nodes takes
    some milliseconds, twice a second for each person with an open list.
    """
    edition: Hashable = None
    found: Hashable = None

    async def again() -> Hashable:
        nonlocal edition, found
        newest = await database.edition()
        if newest != edition:
            found, edition = await read(), newest
        return found

    return again


def mark(shown: Hashable) -> str:
    """Return a short digest of what a page shows."""
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]


async def _may(visit: Visit) -> bool:
    """Return whether the person is still signed in, and may still see the page.

    That is one of their organization, or of the installation, which is for operators.
    """
    try:
        found = await visit.identify()
    except LeydenError:
        return False  # the database is away
    if found is None:
        return False
    if "organization_id" not in visit.path:
        return found.is_operator
    return any(
        each.organization.id == visit.organization_id for each in found.memberships
    )


class _Stream(Response):
    """A response that continues until the browser or the platform ends it."""

    media_type = "text/event-stream"

    def __init__(
        self,
        read: Read,
        streams: OpenStreams,
        slot: ExitStack,
        may: Callable[[], Awaitable[bool]],
        *,
        mark: str,
    ) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._read, self._streams, self._mark = read, streams, mark
        self._slot, self._may = slot, may

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002
        with self._slot:
            await self._send(receive, send)

    async def _send(self, receive: Any, send: Any) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        left = asyncio.create_task(_left(receive))
        try:
            async for line in self._lines():
                if left.done():
                    break
                body = {"type": "http.response.body", "body": line, "more_body": True}
                await send(body)
        finally:
            left.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _lines(self) -> AsyncIterator[bytes]:
        yield b"retry: 2000\n\n"
        found: Hashable = _NOTHING_YET
        present = ""
        for number in range(_LOOKS):
            before = found
            try:
                found = await self._read()
            except LeydenError:  # gone, or away: the page says so when it fetches
                yield _CHANGED
                return
            if found is not before:
                present = mark(found)
            if present != self._mark:
                if not await self._may():  # asks anew, and is told why
                    return
                self._mark = present
                yield _CHANGED
            else:
                yield b": still here\n\n" if number % _SIGN_OF_LIFE == 0 else b""
            if not await self._streams.sleep(_LOOK_EVERY_S):
                return


async def _left(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
