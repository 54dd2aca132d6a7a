"""Telling a page that what it shows has changed: server-sent events.

Only that something changed is told; the page then fetches itself, so that there is one
way to show a thing.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable

from starlette.responses import Response, StreamingResponse

from leyden.errors import LeydenError
from leyden.web.visits import Visit

_LOOK_EVERY_S = 0.5  # reading the stamps of 100 nodes takes 0.2 ms
_SIGN_OF_LIFE = 30  # looks
_LOOKS = 7_200  # after which the browser asks anew, with a session that may have ended


def stream(visit: Visit, look: Callable[[], Awaitable[Hashable]]) -> Response:
    """Say `changed` whenever what `look` gives is another."""

    async def lines() -> AsyncIterator[str]:
        seen = await look()
        yield "retry: 2000\n\n"
        for number in range(_LOOKS):
            if not await visit.closing.sleep(_LOOK_EVERY_S):
                return
            try:
                present = await look()
            except LeydenError:  # gone, or away: the page says so when it fetches
                yield "event: changed\ndata: 1\n\n"
                return
            if present != seen:
                seen = present
                yield "event: changed\ndata: 1\n\n"
            elif number % _SIGN_OF_LIFE == 0:
                yield ": still here\n\n"

    return StreamingResponse(
        lines(), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
    )
