"""One request/response cycle."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from leyden.base import request_ids
from leyden.base.http import problems
from leyden.base.http.responses import answer
from leyden.errors import LeydenError


class Cycle(RequestResponseCycle):
    """One request and its response."""

    taken = 0  # bytes of the body
    caller_left = False  # as far as one can tell: no more is sent
    _given = False  # all of the body, to the application

    async def run_asgi(self, app: Any) -> None:
        """Run the application, which may give no response to a client that left."""
        request_ids.begin(self.scope["request_id"])  # type: ignore[typeddict-item]

        async def run(scope: Any, receive: Any, send: Any) -> None:
            await app(scope, receive, send)
            if self.caller_left and not self.response_started:
                self.disconnected = True
                self.transport.close()

        await super().run_asgi(run)

    async def receive(self) -> Any:
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
        await super().send(message)

    async def send_500_response(self) -> None:
        """Send a JSON 500 response for an application that failed."""
        error = LeydenError()
        headers, body = problems.headers(error), problems.body(error)
        await answer(dict(self.scope), self.send, error.status, headers, body)

    def disconnect(self) -> None:
        """Notify the application that the rest of the body will not arrive."""
        self.disconnected = True
        self.message_event.set()
