"""Responses that are sent piece by piece."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Stream(ABC):
    """A response that sends itself."""

    headers: Sequence[tuple[bytes, bytes]]

    @abstractmethod
    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body, in pieces."""

    async def send(self, send: Send, *, head: bool) -> None:
        """Send all of it; for HEAD without its body."""
        headers = list(self.headers)
        start = {"type": "http.response.start", "status": 200, "headers": headers}
        await send(start)
        if not head:
            async for chunk in self.chunks():
                await send(_part(chunk, more=True))
        await send(_part(b"", more=False))


def _part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}
