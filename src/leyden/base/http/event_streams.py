"""Events as server-sent events, for as long as the caller stays.

Each carries its id, which a client that reconnects sends back as `Last-Event-ID`. A
sign of life tells both sides that the other is there, and the key is looked up again.
"""

from collections.abc import AsyncGenerator, Callable
from typing import Final

from leyden.base.http.responses import NO_STORE, Headers, Send, Stream

TYPE: Final = "text/event-stream"
SIGN_OF_LIFE: Final = b": still here\n\n"
_RETRY: Final = b"retry: 2000\n\n"


class EventStream(Stream):
    """A stream of chunks, each of some events."""

    headers = (
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"x-accel-buffering", b"no"),
        (b"vary", b"accept"),
        NO_STORE,
    )

    def __init__(
        self, chunks: AsyncGenerator[bytes, None], ended: Callable[[], None]
    ) -> None:
        self._chunks = chunks
        self._ended = ended

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the chunks as they come."""
        yield _RETRY
        async for chunk in self._chunks:
            yield chunk

    async def send(self, send: Send, more: Headers, *, head: bool) -> None:
        """Send the chunks; release the place when the client leaves."""
        try:
            await super().send(send, more, head=head)
        finally:
            await self._chunks.aclose()
            self._ended()


def wants_events(accept: bytes) -> bool:
    """Return whether the Accept header names an event stream."""
    named = {each.partition(b";")[0].strip() for each in accept.lower().split(b",")}
    return TYPE.encode() in named


def chunk(event_id: str, body: bytes = b"") -> bytes:
    """Return an event as it is sent; without a body only the cursor moves."""
    data = b"data: %b\n" % body if body else b""
    return b"id: %b\n%b\n" % (event_id.encode(), data)
