"""The end of a connection: rejected, timed out, shut down or finished.

    BETWEEN ──first byte──> HEAD ──end of headers──> BODY ──last byte──> BETWEEN
         any of them, when it was refused, took too long or was the last ──> LEAVING

A request rejected here gets a JSON response, after the responses due before
it, and the connection closes afterwards.
"""

import asyncio
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, Final

import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import (
    HttpToolsProtocol,
    RequestResponseCycle,
)

from leyden.base import request_ids
from leyden.base.http.connections import HttpConnections
from leyden.base.http.cycle import Cycle
from leyden.base.http.framing import RequestRejected
from leyden.base.http.problems import Problem
from leyden.base.http.responses import NO_STORE
from leyden.base.rules.addresses import rate_limit_key

# What programs decide by; docs/customers/errors.md explains each.
HTTP_CODES: Final = {
    400: "malformed_http",
    408: "request_timeout",
    413: "body_too_large",
    414: "url_too_long",
    417: "unsupported_expect",
    431: "headers_too_large",
    503: "too_many_connections",
}


class RequestPart(Enum):
    """The part of a request that is being read."""

    BETWEEN = auto()
    HEAD = auto()
    BODY = auto()
    LEAVING = auto()


class LingeringTransport:
    """The transport of a cycle, with `close` replaced by a lingering close."""

    __slots__ = ("close", "is_closing", "write")

    def __init__(self, connection: "Ending", transport: asyncio.Transport) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = connection.leave


class Ending(HttpToolsProtocol):
    """The closing half of a connection; protocol.py reads requests."""

    def __init__(self, config: Config, connections: HttpConnections) -> None:
        super().__init__(config, connections.state, {})
        self._connections = connections
        self._limits = connections.limits
        self._part = RequestPart.BETWEEN
        self._due_s = 0.0  # when the present part has taken too long
        self._blocked_s = 0.0  # since when the caller does not take our answer
        self._size = 0  # of the head, as it is understood
        self._wire = 0  # of the present part, as it comes, but for its first slice
        self._slice = 0
        self._last = False  # no further request is read
        self._gone = False  # the caller sends no more
        self._answering: RequestResponseCycle | None = None
        self._unread: RequestRejected | None = None  # to be said when its turn comes
        self.address = ""

    def connection_made(  # type: ignore[override]
        self, transport: asyncio.Transport
    ) -> None:
        """Start the header timeout; send 503 if no place is free."""
        super().connection_made(transport)
        self._way = LingeringTransport(self, transport)
        if self.client is not None:
            host, port = self.client
            # On a listener for both families an IPv4 address is written as IPv6.
            self.client = host.removeprefix("::ffff:") if "." in host else host, port
            self.address = rate_limit_key(self.client[0])
        self._due_s = self.loop.time() + self._limits.header_s
        if not self._connections.admit(self):
            self._say(
                RequestRejected(503, "too many connections; try again in a moment")
            )

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the application that the client has disconnected."""
        self._connections.forget(self)
        self._part = RequestPart.LEAVING
        if isinstance(self._answering, Cycle) and self._is_answering():
            self._answering.disconnect()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        if self._gone and isinstance(cycle, Cycle):
            cycle.caller_left = True
        super()._start_asgi_task(cycle, app)

    def _is_answering(self) -> bool:
        return self._answering is not None and not self._answering.response_complete

    def on_response_complete(self) -> None:
        """Start the next pipelined request, or wait for one."""
        self.server_state.total_requests += 1
        if self._part is RequestPart.LEAVING or self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._unread is not None:
            self._say(self._unread)
        elif self._part is RequestPart.BETWEEN:
            self._due_s = self.loop.time() + self._limits.idle_s
            if self._last:
                self.leave()

    def _refuse(self, unread: RequestRejected) -> None:
        """Stop reading; send the error after earlier responses are sent."""
        if self._part is RequestPart.LEAVING or self._unread is not None:
            return
        self._last = True
        if self._part is RequestPart.BODY and isinstance(self.cycle, Cycle):
            # The application must not take what has come for the whole.
            self.cycle.disconnect()
            if self.cycle.response_started:
                self.transport.abort()
                return
            if self._answering is self.cycle:
                self._answering = None
            elif self.pipeline:
                self.pipeline.popleft()
        if self._is_answering():
            self._unread = unread
        else:
            self._say(unread)

    def _say(self, unread: RequestRejected) -> None:
        code = HTTP_CODES[unread.status]
        body = msgspec.json.encode(Problem(unread.message, code=code))
        headers = [
            *self.server_state.default_headers,
            (b"request-id", request_ids.new().encode()),
            (b"error-code", code.encode()),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
            NO_STORE,
        ]
        if unread.status == 503:  # noqa: PLR2004  the one that passes by itself
            headers.append((b"retry-after", b"1"))
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        phrase = HTTPStatus(unread.status).phrase.encode()
        first = b"HTTP/1.1 %d %b\r\n" % (unread.status, phrase)
        self.transport.write(first + lines + b"\r\n" + body)
        self.leave()

    def leave(self) -> None:
        """Close after giving the client time to read the last response."""
        if self._part is RequestPart.LEAVING:
            return
        reading = self._part is not RequestPart.BETWEEN
        self._part = RequestPart.LEAVING
        self._due_s = self.loop.time() + self._limits.send_s
        if not reading:
            self.transport.close()
            return
        # Closing with bytes unread resets the connection, and our answer is lost.
        self._due_s = self.loop.time() + self._limits.linger_s
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def shutdown(self) -> None:
        """Accept no further requests; close at once if none is in progress."""
        self._last = True
        if self._is_answering() or self._part is RequestPart.BODY:
            self.cycle.keep_alive = False
        elif self._part is RequestPart.BETWEEN:
            self.leave()

    def abort(self) -> None:
        """Close the connection to free its place for another."""
        self.transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether the connection has no complete request in progress."""
        if not self._is_answering():
            return True
        begun = self._part is RequestPart.BODY and self._answering is self.cycle
        return begun and not self.cycle.response_started

    def pause_writing(self) -> None:
        """Record when the client stopped reading."""
        self._blocked_s = self.loop.time()
        super().pause_writing()

    def check_timeouts(self, now_s: float) -> None:
        """Close if a timeout has passed; send 408 if a request is unfinished."""
        if self.flow.write_paused and now_s > self._blocked_s + self._limits.send_s:
            self.transport.abort()
            return
        late_s = now_s - self._due_s
        if late_s <= 0:
            return
        match self._part:
            case RequestPart.LEAVING:
                self.transport.abort()
            case RequestPart.BETWEEN if not self._is_answering():
                self.leave()
            case RequestPart.HEAD if not self.flow.read_paused:
                self._refuse(
                    RequestRejected(408, "the request's headers took too long")
                )
            case RequestPart.BODY if not self.flow.read_paused and isinstance(
                self.cycle, Cycle
            ):
                if late_s * self._limits.body_rate > self.cycle.taken:
                    self._refuse(
                        RequestRejected(408, "the request's body took too long")
                    )
            case _:
                pass
