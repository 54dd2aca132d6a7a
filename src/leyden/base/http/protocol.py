"""Strict HTTP/1.1 parsing, with a limit on everything.

The parser (llhttp) rejects bare line feeds, folding and two lengths.
framing.py rejects what the parser accepts, and this module what is too
large or too many. ending.py describes what happens then.
"""

import asyncio
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from leyden.base import request_ids
from leyden.base.http.connection_end import Ending, RequestPart
from leyden.base.http.cycle import Cycle
from leyden.base.http.framing import (
    RequestRejected,
    check_headers,
    check_target,
    framing_of,
)

# The parser is fed in slices, so that no limit is passed by more than one of them.
_SLICE = 16 * 1024
# A chunk of one byte costs six; a body of nothing but such is not meant as a body.
_WIRE_PER_BYTE = 4
_LINE_FEED = 10
_NO_TRAILERS = "trailers are not supported"


def _rejection(error: httptools.HttpParserError) -> RequestRejected:
    """Return why the parser stopped; re-raise errors that are ours."""
    if not isinstance(error, httptools.HttpParserCallbackError):
        return RequestRejected(400, f"the request is not valid HTTP/1.1: {error}")
    if not isinstance(error.__context__, RequestRejected):
        raise error
    return error.__context__


class _Rest:
    """Parser callbacks for a body whose head another parser has read."""

    def __init__(self, connection: "StrictProtocol") -> None:
        self.on_body = connection.on_body
        self.on_message_complete = connection.on_message_complete
        self._begun = False

    def on_headers_complete(self) -> None:
        """Note that the head is complete: later headers are trailers."""
        self._begun = True

    def on_header(self, _name: bytes, _value: bytes) -> None:
        """Reject headers that come after the body."""
        if self._begun:
            raise RequestRejected(400, _NO_TRAILERS)


class StrictProtocol(Ending):
    """One connection, from its first byte to its last."""

    _framing = b""  # of a body that its parser took for another protocol

    def data_received(self, data: bytes) -> None:
        """Read received data in slices."""
        if len(data) <= _SLICE:
            self._read(data)
            return
        view = memoryview(data)
        for start in range(0, len(data), _SLICE):
            self._read(view[start : start + _SLICE])

    def _read(self, data: bytes | memoryview) -> None:
        if self._part is RequestPart.LEAVING or self._unread is not None:
            return  # only let pass, so that our answer is not lost
        if self._part is RequestPart.BETWEEN:
            if self._last:
                return
            if data[0] == _LINE_FEED:
                self._refuse(
                    RequestRejected(400, "a request must not begin with a line feed")
                )
                return
        self._slice = len(data)
        rest: bytes | memoryview = b""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # Answered as HTTP/1.1; what follows the request is something else.
            self._last = True
            rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            self._refuse(_rejection(error))
        else:
            self._wire += self._slice
            self._check_wire()
        if self._framing:
            self._read_on(rest)

    def _read_on(self, data: bytes | memoryview) -> None:
        """Read a body as HTTP/1.1 although the client offered h2c.

        Java's client offers an upgrade in each request over plain HTTP, and
        the parser has stopped at the end of the head.
        """
        head = b"POST / HTTP/1.1\r\nconnection: close\r\n%b\r\n" % self._framing
        self._framing = b""
        self.parser = httptools.HttpRequestParser(_Rest(self))
        self.parser.feed_data(head)
        if data:
            self._read(data)

    def _check_wire(self) -> None:
        if self._part is RequestPart.HEAD and self._wire > self._limits.header_bytes:
            self._refuse(RequestRejected(431, "the request's headers are too large"))
        elif self._part is RequestPart.BODY and self._wire > (
            self._limits.body_bytes * _WIRE_PER_BYTE
        ):
            self._refuse(RequestRejected(413, "the body has too many small chunks"))

    def on_message_begin(self) -> None:
        """Start reading a request."""
        if len(self.pipeline) >= self._limits.pipelined:
            raise RequestRejected(400, "too many pipelined requests")
        super().on_message_begin()
        self._enter(RequestPart.HEAD, self._limits.header_s)
        self._size = 0

    def on_url(self, url: bytes) -> None:
        """Add a part of the request target."""
        self.url += url
        if len(self.url) > self._limits.target_bytes:
            raise RequestRejected(414, "the request target is too long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; reject one too many, and any that follows the body."""
        if self._part is not RequestPart.HEAD:
            raise RequestRejected(400, _NO_TRAILERS)
        self._size += len(name) + len(value) + 4
        if self._size + len(self.url) > self._limits.header_bytes:
            raise RequestRejected(431, "the request's headers are too large")
        if len(self.headers) >= self._limits.headers:
            raise RequestRejected(431, "the request has too many headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the headers together, then start the application."""
        version = self.parser.get_http_version()
        method = self.parser.get_method().decode("ascii")
        if check_headers(self.headers, version) > self._limits.body_bytes:
            raise self._too_large()
        path, _, query = check_target(self.url, method).partition(b"?")
        scope = self.scope
        scope["method"] = method
        scope["http_version"] = version
        scope["raw_path"] = path
        scope["path"] = unquote(path.decode("ascii"))
        scope["query_string"] = query
        if (
            version == "1.0"
            or not self.parser.should_keep_alive()
            or self.parser.should_upgrade()
            or self._connections.is_closing
        ):
            self._last = True
        if self.parser.should_upgrade():
            self._framing = framing_of(self.headers)
        self._enter(RequestPart.BODY, self._limits.body_s)
        self.cycle = self._new_cycle()
        if self._is_answering():
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))
        else:
            self._start_asgi_task(self.cycle, self.app)

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        cycle = self.cycle
        if cycle.response_complete or not isinstance(cycle, Cycle):
            return
        cycle.taken += len(body)
        if cycle.taken > self._limits.body_bytes:
            raise self._too_large()
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        """Mark the body as complete for the application."""
        if self._framing:
            return  # the body is still to come, to another parser
        self._part = RequestPart.BETWEEN
        self.cycle.more_body = False
        self.cycle.message_event.set()

    def _enter(self, part: RequestPart, max_s: float) -> None:
        self._part = part
        self._due_s = self.loop.time() + max_s
        self._wire = -self._slice  # which makes it 0 at the end of this slice

    def _too_large(self) -> RequestRejected:
        limit_kib = self._limits.body_bytes // 1024
        return RequestRejected(413, f"the body is larger than {limit_kib} KiB")

    def _new_cycle(self) -> Cycle:
        request_id = request_ids.new()
        self.scope["request_id"] = request_id  # type: ignore[typeddict-unknown-key]
        named = (b"request-id", request_id.encode())
        return Cycle(
            scope=self.scope,
            transport=self._way,  # type: ignore[arg-type] # all that a cycle uses
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=[*self.server_state.default_headers, named],
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=not self._last,
            on_response=self.on_response_complete,
        )

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Finish responding to complete requests; the client sends no more."""
        if self._part in {RequestPart.HEAD, RequestPart.BODY}:
            self._refuse(RequestRejected(400, "the request is incomplete"))
        self._last = self._gone = True
        if self.scheme == "https" or not self._is_answering():
            return None
        if isinstance(self._answering, Cycle):
            self._answering.caller_left = True
            self._answering.message_event.set()
        self.cycle.keep_alive = False
        return True
