"""Watches of lnd's state through its state stream: one connection, no polling.

lnd answers `GET /v1/state/subscribe` without a macaroon, from about 50 ms
after its exec on, with one line of JSON for each new state, and never ends
the answer. Ten thousand of these are open at once, so each is a bare
protocol on uvloop: 51 KiB of memory where an HTTP client's stream takes
several times that, and no task that waits.
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

from leyden.domain.observations import State
from leyden.lnd.state_lines import NotAStream, StateLines
from leyden.values import Struct

log = logging.getLogger(__name__)

# From exec to the first answer lnd needs 50 ms at the very least. To be refused on this
# machine costs 50 µs; each wait is a part of the time it has taken so far, so that what
# is lost is little for whoever is quick, and a storm of starts does not spend on
# knocking what the starting needs.
OPENS_AFTER_S: Final = 0.03
_FIRST_WAIT_S: Final = 0.0025
_PART: Final = 0.04
_LONGEST_WAIT_S: Final = 1.0
# Whoever is there answers within milliseconds. What went to where nobody was is sent
# there again; a new connection goes to where the node is by now.
_ANSWERS_WITHIN_S: Final = 5.0
_HANDSHAKE_S: Final = 20.0
# lnd says nothing for days. One that gave us up while its machine was cut off would be
# listened to for two hours more, by the system's own choice.
_KEPT_ALIVE: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)


class Address(Struct, frozen=True):
    """The address of an lnd, and the one name in its certificate."""

    host: str  # an IP address: it is never looked up
    port: int
    name: str


class Watch(asyncio.Protocol):
    """A watch of one lnd: connects, listens, reconnects when it ends."""

    __slots__ = (
        "_address",
        "_began",
        "_closed",
        "_lines",
        "_loop",
        "_next",
        "_tell",
        "_tls",
        "_transport",
        "_turns",
        "_warned",
    )

    def __init__(
        self,
        address: Address,
        tls: ssl.SSLContext,
        tell: Callable[[State], None],
        *,
        opens_after_s: float = 0.0,
        turns: AbstractAsyncContextManager[object] | None = None,
    ) -> None:
        """Begin to connect; `turns` is entered for each TLS handshake.

        Thousands made at once would each exceed their time limit, and block
        everything else meanwhile.
        """
        self._turns = turns or contextlib.nullcontext()
        self._address = address
        self._tls = tls
        self._tell = tell
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

    def _knock_later(self) -> None:
        taken_s = self._loop.time() - self._began
        wait_s = min(max(_FIRST_WAIT_S, _PART * taken_s), _LONGEST_WAIT_S)
        self._next = self._loop.call_later(wait_s, self._connect)

    def _connect(self) -> None:
        """Begin to connect; a local refusal arrives before this returns."""
        family = socket.AF_INET6 if ":" in self._address.host else socket.AF_INET
        try:
            knocking = socket.socket(family, socket.SOCK_STREAM)
        except OSError:  # too many files are open; it will pass
            self._knock_later()
            return
        knocking.setblocking(False)  # noqa: FBT003  the standard library's
        error = knocking.connect_ex((self._address.host, self._address.port))
        if error in {0, errno.EINPROGRESS}:
            error = knocking.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            knocking.close()
            self._knock_later()
        else:
            entering = self._loop.create_task(self._adopt_connection(knocking))
            # Not in `_enter` itself: cancelled before its first step it never begins.
            entering.add_done_callback(partial(_close_unless_entered, knocking))
            self._next = entering

    async def _adopt_connection(self, knocking: socket.socket) -> bool:
        """Take over the new connection; return False if it failed."""
        try:
            for option in _KEPT_ALIVE:
                knocking.setsockopt(*option)
            # Without a turn: those on a machine that is lost would have all of them.
            async with asyncio.timeout(_ANSWERS_WITHIN_S):
                await _connected(knocking)
            async with self._turns, asyncio.timeout(_HANDSHAKE_S):
                await self._loop.create_connection(
                    lambda: self,
                    sock=knocking,
                    ssl=self._tls,
                    server_hostname=self._address.name,
                )
        except (OSError, TimeoutError) as error:
            if isinstance(error, ssl.SSLError) and not self._warned:
                self._warned = True  # once is enough: it knocks every second
                log.warning(
                    "an lnd presents a certificate that is not ours",
                    extra={"host": self._address.name, "why": str(error)},
                )
            self._knock_later()
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
                self._tell(state)

    def connection_lost(self, _: Exception | None) -> None:
        """Reconnect, unless closed."""
        self._transport = None
        if not self._closed:
            self._knock_later()


def _close_unless_entered(
    knocking: socket.socket, entering: "asyncio.Task[bool]"
) -> None:
    if entering.cancelled() or not entering.result():
        knocking.close()


async def _connected(knocking: socket.socket) -> None:
    """Wait until a pending connection is accepted or refused."""
    loop = asyncio.get_running_loop()
    writable = asyncio.Event()
    loop.add_writer(knocking, writable.set)
    try:
        await writable.wait()
    finally:
        loop.remove_writer(knocking)
    if error := knocking.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(error, os.strerror(error))
