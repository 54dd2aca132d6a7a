"""Checks of a request's head beyond those of the parser.

Two readers must never disagree on where a request ends or whom it is for.
If a proxy believes one length and we another, one client can send requests
in another's name.
"""

import re
from collections.abc import Iterable

_HOST = re.compile(rb"[A-Za-z0-9._:\[\]-]{1,255}")
# Of two of these, two readers may each believe another one.
_ONCE = frozenset(
    {b"host", b"content-type", b"content-encoding", b"transfer-encoding", b"expect"}
)
_VERSIONS = frozenset({"1.0", "1.1"})


class RequestRejected(Exception):
    """The request is rejected without reading the rest of it.

    The client gets the reason, and the connection closes.
    """

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(message)


def check_headers(headers: Iterable[tuple[bytes, bytes]], version: str) -> int:
    """Return the body's declared length, or 0; reject ambiguous headers.

    The parser has already lowercased names and checked that lengths are
    digits.
    """
    if version not in _VERSIONS:
        raise RequestRejected(400, "only HTTP/1.1 is supported")
    once: dict[bytes, bytes] = {}
    length = 0
    for name, value in headers:
        if name in _ONCE:
            if name in once:
                raise RequestRejected(400, f"the header {name.decode()} was sent twice")
            once[name] = value
        elif name == b"content-length":
            length = int(value)
        elif name == b"upgrade" and value.lower() == b"websocket":
            raise RequestRejected(400, "WebSocket is not supported")
    _check_host(once.get(b"host"), version)
    coding = once.get(b"transfer-encoding")
    if coding is not None and (version != "1.1" or coding.lower() != b"chunked"):
        raise RequestRejected(
            400, "transfer-encoding: only chunked is supported, in HTTP/1.1"
        )
    if once.get(b"expect", b"100-continue").lower() != b"100-continue":
        raise RequestRejected(417, "expect: only 100-continue is supported")
    return length


def _check_host(host: bytes | None, version: str) -> None:
    if host is None:
        if version == "1.1":
            raise RequestRejected(400, "the header host is required")
    elif not _HOST.fullmatch(host):
        raise RequestRejected(
            400, "the header host must be a name, or a name and a port"
        )


def framing_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the header line that frames the body, or b"" without one."""
    for name, value in headers:
        if name == b"transfer-encoding" or (name == b"content-length" and int(value)):
            return b"%b: %b\r\n" % (name, value)
    return b""


def check_target(target: bytes, method: str) -> bytes:
    """Return the request target; reject absolute URLs and fragments.

    A proxy may route by the host in the target while we use the Host
    header.
    """
    if target[:1] != b"/" and not (target == b"*" and method == "OPTIONS"):
        raise RequestRejected(400, "the request target must begin with a slash")
    if b"#" in target:
        raise RequestRejected(400, "the request target must not have a fragment")
    return target
