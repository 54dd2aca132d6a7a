"""Complete responses."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Headers = list[tuple[bytes, bytes]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

NO_STORE: Final = (b"cache-control", b"no-store")
"""Sent with each answer of the API: it may hold a secret, and is for one caller."""


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
