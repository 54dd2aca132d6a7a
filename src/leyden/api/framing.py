"""What the head of a request must be, beyond what the parser itself insists on.

Two readers must never disagree on where a request ends or whom it is for: a proxy that
believes one length and we another lets one caller speak in another's name.
"""

import re
from collections.abc import Iterable

_HOST = re.compile(rb"[A-Za-z0-9._:\[\]-]{1,255}")
# Of two of these, two readers may each believe another one.
_ONCE = frozenset(
    {b"host", b"content-type", b"content-encoding", b"transfer-encoding", b"expect"}
)
_VERSIONS = frozenset({"1.0", "1.1"})


class Unread(Exception):
    """This request is read no further; the caller is told why, and has to leave."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(message)


def check_headers(headers: Iterable[tuple[bytes, bytes]], version: str) -> int:
    """Give the declared length of the body, 0 when none is; refuse what is ambiguous.

    Names come in lower case, and lengths as digits: the parser has seen to that.
    """
    if version not in _VERSIONS:
        raise Unread(400, "only HTTP/1.1 is spoken here")
    once: dict[bytes, bytes] = {}
    length = 0
    for name, value in headers:
        if name in _ONCE:
            if name in once:
                raise Unread(400, f"the header {name.decode()} was sent twice")
            once[name] = value
        elif name == b"content-length":
            length = int(value)
        elif name == b"upgrade" and value.lower() == b"websocket":
            raise Unread(400, "WebSocket is not spoken here")
    _check_host(once.get(b"host"), version)
    coding = once.get(b"transfer-encoding")
    if coding is not None and (version != "1.1" or coding.lower() != b"chunked"):
        raise Unread(400, "transfer-encoding: only chunked is taken, in HTTP/1.1")
    if once.get(b"expect", b"100-continue").lower() != b"100-continue":
        raise Unread(417, "expect: only 100-continue can be met")
    return length


def _check_host(host: bytes | None, version: str) -> None:
    if host is None:
        if version == "1.1":
            raise Unread(400, "the header host is required")
    elif not _HOST.fullmatch(host):
        raise Unread(400, "the header host is not a name and a port")


def framing_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Give the header that says where the body ends, as a line; none where none is."""
    for name, value in headers:
        if name == b"transfer-encoding" or (name == b"content-length" and int(value)):
            return b"%b: %b\r\n" % (name, value)
    return b""


def check_target(target: bytes, method: str) -> bytes:
    """Give the target; refuse one that names a host, or none of our paths.

    A proxy may route by the host in the target and we by the Host header.
    """
    if target[:1] != b"/" and not (target == b"*" and method == "OPTIONS"):
        raise Unread(400, "the request's target must begin with a slash")
    if b"#" in target:
        raise Unread(400, "the request's target must not have a fragment")
    return target
