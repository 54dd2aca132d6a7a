"""Responses that are sent piece by piece, as they are read."""

from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import Response


class Streamed(Response):
    """A response of pieces; a browser notices one that breaks off."""

    def __init__(self, pieces: AsyncIterator[bytes], media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002
        """Send them."""
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
