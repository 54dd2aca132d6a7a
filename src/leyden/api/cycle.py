"""One request/response cycle; a complete response is written at once."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from uvicorn._types import ASGI3Application, ASGIReceiveEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from leyden.api.whole import NO_STORE, WHOLE


class Cycle(RequestResponseCycle):
    """One request and its response."""

    taken = 0  # bytes of the body
    caller_left = False  # as far as one can tell: no more is sent
    _given = False  # all of the body, to the application

    async def run_asgi(self, app: ASGI3Application) -> None:
        """Run the application, which may give no response to a client that left."""

        async def run(scope: Any, receive: Any, send: Any) -> None:
            await app(scope, receive, send)
            if self.caller_left and not self.response_started:
                self.disconnected = True
                self.transport.close()

        await super().run_asgi(run)

    async def receive(self) -> ASGIReceiveEvent:
        """Return the next part of the body, then wait for a disconnect.

        A client that sends no more may still be reading, so responding
        stays possible.
        """
        message = await super().receive()
        if self.caller_left and self._given:
            return {"type": "http.disconnect"}
        self._given = not message.get("more_body", False)
        return message

    async def send(self, message: Any) -> None:
        """Send a message from the application to the client."""
        if not self.response_started and self.more_body:
            # Answered before it was read: what is still coming is not awaited.
            self.keep_alive = False
        if self.disconnected:
            # An application that streams for ever must not take the loop with it.
            await asyncio.sleep(0)
        if message["type"] != WHOLE:
            await super().send(message)
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if not self.disconnected:
            self._answer(message)

    def _answer(self, message: Mapping[str, Any]) -> None:
        """Write head and body in one call; api/whole.py set the length."""
        if self.response_started:
            raise RuntimeError("an answer was sent already")
        lines = [STATUS_LINE[message["status"]]]
        for name, value in (*self.default_headers, *message["headers"]):
            lines += (name, b": ", value, b"\r\n")
        lines.append(b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n")
        lines.append(message["body"])
        self.transport.write(b"".join(lines))
        self.response_started = self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    async def send_500_response(self) -> None:
        """Send a JSON 500 response for an application that failed."""
        body = msgspec.json.encode({"message": "something went wrong on our side"})
        await self.send(
            {
                "type": "http.response.start",
                "status": 500,
                "headers": [
                    (b"content-type", b"application/json"),
                    (b"content-length", b"%d" % len(body)),
                    NO_STORE,
                ],
            }
        )
        await self.send({"type": "http.response.body", "body": body})

    def disconnect(self) -> None:
        """Notify the application that the rest of the body will not arrive."""
        self.disconnected = True
        self.message_event.set()
