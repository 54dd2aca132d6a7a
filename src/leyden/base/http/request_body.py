"""Bodies of requests, read whole up to a limit."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from leyden.errors import TooLarge

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientLeft(Exception):
    """The client disconnected before the request was complete."""


async def read_body(receive: Receive, largest: int, *, what: str = "body") -> bytes:
    """Read the whole body.

    Raise TooLarge as soon as the limit is passed, and ClientLeft if the
    client disconnects.
    """
    parts = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        part = message.get("body", b"")
        size += len(part)
        if size > largest:
            raise TooLarge(f"the {what} is larger than {largest // 1024} KiB")
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)
