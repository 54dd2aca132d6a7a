"""Responses, complete or sent piece by piece."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from typing import Any, Final

Headers = list[tuple[bytes, bytes]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

NO_STORE: Final = (b"cache-control", b"no-store")
"""Sent with each answer of the API: it may hold a secret, and is for one caller."""
Send = Callable[[dict[str, Any]], Awaitable[None]]


async def answer(
    scope: MutableMapping[str, Any],
    send: _Send,
    status: int,
    headers: Headers,
    body: bytes,
) -> None:
    """Send a complete response; for HEAD without its body."""
    headers = [*headers, NO_STORE, (b"content-length", b"%d" % len(body))]
    if scope["method"] == "HEAD":
        body = b""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Stream(ABC):
    """A response that sends itself."""

    headers: Sequence[tuple[bytes, bytes]]

    @abstractmethod
    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body, in pieces."""

    async def send(self, send: Send, more: Headers, *, head: bool) -> None:
        """Send all of it, with more headers; for HEAD without its body."""
        headers = [*self.headers, *more]
        start = {"type": "http.response.start", "status": 200, "headers": headers}
        await send(start)
        if not head:
            async for chunk in self.chunks():
                await send(_part(chunk, more=True))
        await send(_part(b"", more=False))


def _part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}
