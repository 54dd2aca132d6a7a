"""A connector for aiohttp that leaves no dead connections.

It closes those of calls that are not read to the end, and notices servers that vanish.
"""

import os
import socket
import ssl
from typing import Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey

# As the gateway does: probes after a minute, and two minutes later the end. A server
# whose machine fails, or whose network is cut, says nothing. Without probes, a caller
# who waits for the next message of a stream would wait forever.
_PROBES: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 30, "TCP_KEEPCNT": 4}


def _probing_socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, *_ = address
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if (option := getattr(socket, name, None)) is not None:  # not on every system
            opened.setsockopt(socket.IPPROTO_TCP, option, value)
    return opened


class Connector(aiohttp.TCPConnector):
    """A connector that closes the connection of a call not read to its end.

    aiohttp alone keeps it open until the server closes it as well, for up to 30 s and
    beyond the end of the session, which no longer knows it. Its setting
    for this, `enable_cleanup_closed`, waits for 2 s, and does nothing on a Python from
    3.12.8 on.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(socket_factory=_probing_socket, **options)

    def _release(
        self,
        key: ConnectionKey,
        protocol: ResponseHandler,
        *,
        should_close: bool = False,
    ) -> None:
        left = should_close or protocol.should_close
        transport = protocol.transport
        super()._release(key, protocol, should_close=should_close)
        if left and transport is not None:
            transport.abort()


_WORDS: Final[tuple[tuple[tuple[type[BaseException], ...], str], ...]] = (
    (
        (aiohttp.ClientConnectorCertificateError, ssl.SSLError),
        "its certificate is not the expected one",
    ),
    ((TimeoutError,), "it did not answer in time"),
    ((aiohttp.ClientConnectorDNSError,), "its name can't be resolved"),
    (
        (aiohttp.ServerDisconnectedError, ConnectionResetError),
        "it closed the connection",
    ),
    ((aiohttp.InvalidURL,), "it is not a valid URL"),
    ((aiohttp.ContentTypeError, ValueError), "its answer can't be read"),
)


def why(error: BaseException) -> str:
    """Return in words why a call failed, for people who read no Python."""
    for kinds, words in _WORDS:
        if isinstance(error, kinds):
            return words
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return "the connection failed"
