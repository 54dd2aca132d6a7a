"""Watch lnd's state through its state stream: one connection, no polling.

lnd responds to `GET /v1/state/subscribe` without a macaroon, from about 50 ms
after its exec, with a line of JSON for each new state. The response never
ends. Ten thousand of these streams are open at once, and an lnd that takes a
second to start is called some eighty times, so each is a bare protocol on
uvloop: an HTTP client takes ten times as long for a refused connection.
"""

import asyncio
import contextlib
import errno
import logging
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final, cast

from leyden.nodes.lnd.state_lines import NotAStream, StateLines
from leyden.nodes.rules.observations import LndState
from leyden.values import Struct

log = logging.getLogger(__name__)

# From exec to its first response lnd takes at least 50 ms. A refused connection on this
# machine costs 50 µs. Each wait is a fraction of the time since the start: a node that
# starts fast is noticed with little delay, and when many start at once, connection
# attempts do not take the CPU time that the starts need.
OPENS_AFTER_S: Final = 0.03
_FIRST_WAIT_S: Final = 0.0025
_WAIT_FRACTION: Final = 0.04
_LONGEST_WAIT_S: Final = 1.0
# A reachable node accepts within milliseconds. TCP would resend to an address that is
# gone; a new connection goes to the node's current address.
_CONNECT_S: Final = 5.0
_HANDSHAKE_S: Final = 20.0
# lnd may send nothing for days. If it dropped the connection while its machine was cut
# off, the system's defaults would notice that only after two hours.
_PROBES: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 30, "TCP_KEEPCNT": 4}


class TlsAddress(Struct, frozen=True):
    """The address of an lnd, and the name in its certificate."""

    host: str  # an IP address, which needs no DNS
    port: int
    name: str


class StatesWatch(asyncio.Protocol):
    """A watch of one lnd: connects, listens, and reconnects after a disconnect."""

    __slots__ = (
        "_address",
        "_began",
        "_closed",
        "_lines",
        "_loop",
        "_next",
        "_report",
        "_tls",
        "_transport",
        "_turns",
        "_warned",
    )

    def __init__(
        self,
        address: TlsAddress,
        tls: ssl.SSLContext,
        report: Callable[[LndState], None],
        *,
        opens_after_s: float = 0.0,
        turns: AbstractAsyncContextManager[object] | None = None,
    ) -> None:
        """Start to connect; `turns` is entered for each TLS handshake.

        It limits how many run at once: thousands would all exceed their time limit,
        and block everything else meanwhile.
        """
        self._turns = turns or contextlib.nullcontext()
        self._address = address
        self._tls = tls
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._lines = StateLines()
        self._transport: asyncio.Transport | None = None
        self._next: asyncio.TimerHandle | asyncio.Task[bool] | None = None
        self._began = self._loop.time()
        self._closed = False
        self._warned = False
        self._next = self._loop.call_later(opens_after_s, self._connect)

    def close(self) -> None:
        """Stop listening; no more states are reported."""
        self._closed = True
        if self._next is not None:
            self._next.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _connect_later(self) -> None:
        taken_s = self._loop.time() - self._began
        wait_s = min(max(_FIRST_WAIT_S, _WAIT_FRACTION * taken_s), _LONGEST_WAIT_S)
        self._next = self._loop.call_later(wait_s, self._connect)

    def _connect(self) -> None:
        """Start to connect; a local refusal arrives before this returns."""
        family = socket.AF_INET6 if ":" in self._address.host else socket.AF_INET
        try:
            sock = socket.socket(family, socket.SOCK_STREAM)
        except OSError:  # too many open files; try again later
            self._connect_later()
            return
        sock.setblocking(False)  # noqa: FBT003  the standard library's
        error = sock.connect_ex((self._address.host, self._address.port))
        if error in {0, errno.EINPROGRESS}:
            error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            sock.close()
            self._connect_later()
        else:
            adopting = self._loop.create_task(self._adopt_connection(sock))
            # Not in the task itself: if cancelled before its first step, it never runs.
            adopting.add_done_callback(partial(_close_unless_adopted, sock))
            self._next = adopting

    async def _adopt_connection(self, sock: socket.socket) -> bool:
        """Take over the new connection; return False if it failed."""
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _PROBES.items():
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
            # Outside `turns`: connections to a lost machine would occupy all of them.
            async with asyncio.timeout(_CONNECT_S):
                await _connected(sock)
            async with self._turns, asyncio.timeout(_HANDSHAKE_S):
                await self._loop.create_connection(
                    lambda: self,
                    sock=sock,
                    ssl=self._tls,
                    server_hostname=self._address.name,
                )
        except (OSError, TimeoutError) as error:
            if isinstance(error, ssl.SSLError) and not self._warned:
                self._warned = True  # once is enough: it reconnects every second
                log.warning(
                    "an lnd presents a certificate that is not ours",
                    extra={"host": self._address.name, "why": str(error)},
                )
            self._connect_later()
            return False
        self._next = None
        return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Request the stream."""
        self._transport = cast("asyncio.Transport", transport)
        self._lines = StateLines()
        request = (
            f"GET /v1/state/subscribe HTTP/1.1\r\nHost: {self._address.name}\r\n\r\n"
        )
        self._transport.write(request.encode())

    def data_received(self, data: bytes) -> None:
        """Report each new state of lnd."""
        try:
            states = self._lines.feed(data)
        except NotAStream as error:
            log.debug(
                "a state stream was interrupted",
                extra={"host": self._address.name, "why": error},
            )
            if self._transport is not None:
                self._transport.abort()
            return
        self._began = self._loop.time()
        for state in states:
            if not self._closed:
                self._report(state)

    def connection_lost(self, _: Exception | None) -> None:
        """Reconnect, unless closed."""
        self._transport = None
        if not self._closed:
            self._connect_later()


def _close_unless_adopted(sock: socket.socket, adopting: "asyncio.Task[bool]") -> None:
    if adopting.cancelled() or not adopting.result():
        sock.close()


async def _connected(sock: socket.socket) -> None:
    """Wait until a pending connection is accepted or refused."""
    loop = asyncio.get_running_loop()
    writable = asyncio.Event()
    loop.add_writer(sock, writable.set)
    try:
        await writable.wait()
    finally:
        loop.remove_writer(sock)
    if error := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(error, os.strerror(error))
