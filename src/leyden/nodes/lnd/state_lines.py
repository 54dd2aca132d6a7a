"""A parser for lnd's state stream: chunked HTTP/1.1, a line of JSON for each state."""

import json
from typing import Final

from leyden.nodes.rules.observations import LndState

_LONGEST_RESPONSE: Final = 16 * 1024
_END_OF_HEADERS: Final = b"\r\n\r\n"


class NotAStream(Exception):
    """The response is not a state stream."""


class StateLines:
    """An incremental parser of the stream."""

    __slots__ = ("_buffer", "_in_body", "_line")

    def __init__(self) -> None:
        self._buffer = b""
        self._line = b""
        self._in_body = False

    def feed(self, data: bytes) -> list[LndState]:
        """Parse more data; return the states it completes, oldest first."""
        self._buffer += data
        if not self._in_body and not self._read_headers():
            return []
        states = []
        while (chunk := self._take_chunk()) is not None:
            *lines, self._line = (self._line + chunk).split(b"\n")
            states += [_state(line) for line in lines if line.strip()]
        if len(self._buffer) + len(self._line) > _LONGEST_RESPONSE:
            raise NotAStream("its response is too large")
        return states

    def _read_headers(self) -> bool:
        end = self._buffer.find(_END_OF_HEADERS)
        if end < 0:
            if len(self._buffer) > _LONGEST_RESPONSE:
                raise NotAStream("its headers do not end")
            return False
        status, *headers = self._buffer[:end].lower().split(b"\r\n")
        if not status.startswith(b"http/1.1 200"):
            raise NotAStream("its status is not 200")
        if b"transfer-encoding: chunked" not in headers:
            raise NotAStream("its response is not chunked")
        self._buffer = self._buffer[end + len(_END_OF_HEADERS) :]
        self._in_body = True
        return True

    def _take_chunk(self) -> bytes | None:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            return None
        try:
            size = int(self._buffer[:end], 16)
        except ValueError:
            raise NotAStream("its chunks have no size") from None
        start = end + 2
        if size == 0:
            raise NotAStream("it ended its response")
        if len(self._buffer) < start + size + 2:
            return None
        chunk = self._buffer[start : start + size]
        self._buffer = self._buffer[start + size + 2 :]
        return chunk


def _state(line: bytes) -> LndState:
    try:
        return LndState(json.loads(line)["result"]["state"])
    except (ValueError, KeyError, TypeError):
        raise NotAStream("a line is not a state") from None
