"""Where lnd stands, from its own state stream: one connection per node, no polling.

lnd answers `GET /v1/state/subscribe` without a macaroon, from some 50 ms after its
exec on, with one line of JSON for each state it comes to, and never ends the answer.
Ten thousand of these are open at once, so each is a bare protocol on uvloop: 51 KiB of
memory where an HTTP client's stream takes several times that, and no task that waits.
"""

import asyncio
import contextlib
import errno
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final, cast

from leyden import logs
from leyden.domain.observations import State
from leyden.lnd.state_lines import NotAStream, StateLines
from leyden.values import Struct

log = logs.get()

# From exec to the first answer lnd needs 50 ms at the very least. To be refused on this
# machine costs 50 µs; each wait is a part of the time it has taken so far, so that what
# is lost is little for whoever is quick, and a storm of starts does not spend on
# knocking what the starting needs.
OPENS_AFTER_S: Final = 0.03
_FIRST_WAIT_S: Final = 0.0025
_PART: Final = 0.04
_LONGEST_WAIT_S: Final = 1.0
_HANDSHAKE_S: Final = 20.0


class Address(Struct, frozen=True):
    """Where an lnd answers, and the one name its certificate shows."""

    host: str  # an IP address: it is never looked up
    port: int
    name: str


class Watch(asyncio.Protocol):
    """Follows one lnd: knocks until it opens, listens, knocks again when it ends."""

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
        """Begin to knock; `turns` is entered while a connection is made.

        Thousands that are made at once would all take longer than each may, and
        nothing else would have its turn meanwhile.
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
        self._next = self._loop.call_later(opens_after_s, self._knock)

    def close(self) -> None:
        """Stop listening; nothing is told any more."""
        self._closed = True
        if self._next is not None:
            self._next.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _knock_later(self) -> None:
        taken_s = self._loop.time() - self._began
        wait_s = min(max(_FIRST_WAIT_S, _PART * taken_s), _LONGEST_WAIT_S)
        self._next = self._loop.call_later(wait_s, self._knock)

    def _knock(self) -> None:
        """Begin to connect; on this machine a refusal comes before this returns."""
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
            entering = self._loop.create_task(self._enter(knocking))
            # Not in `_enter` itself: cancelled before its first step it never begins.
            entering.add_done_callback(partial(_close_unless_entered, knocking))
            self._next = entering

    async def _enter(self, knocking: socket.socket) -> bool:
        """Make the connection that was begun ours; False when it was not to be."""
        try:
            knocking.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            async with self._turns, asyncio.timeout(_HANDSHAKE_S):
                await _connected(knocking)
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
                    "an lnd shows a certificate that is not ours",
                    name=self._address.name,
                    why=str(error),
                )
            self._knock_later()
            return False
        self._next = None
        return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        self._transport = cast("asyncio.Transport", transport)
        self._lines = StateLines()
        request = (
            f"GET /v1/state/subscribe HTTP/1.1\r\nHost: {self._address.name}\r\n\r\n"
        )
        self._transport.write(request.encode())

    def data_received(self, data: bytes) -> None:
        """Tell each state that lnd comes to."""
        try:
            states = self._lines.feed(data)
        except NotAStream as error:
            log.debug("a state stream broke off", name=self._address.name, why=error)
            if self._transport is not None:
                self._transport.abort()
            return
        self._began = self._loop.time()
        for state in states:
            if not self._closed:
                self._tell(state)

    def connection_lost(self, _: Exception | None) -> None:
        """Knock again, unless nobody listens."""
        self._transport = None
        if not self._closed:
            self._knock_later()


def _close_unless_entered(
    knocking: socket.socket, entering: "asyncio.Task[bool]"
) -> None:
    if entering.cancelled() or not entering.result():
        knocking.close()


async def _connected(knocking: socket.socket) -> None:
    """Wait until the other side has taken a connection that was begun, or refused."""
    loop = asyncio.get_running_loop()
    writable = asyncio.Event()
    loop.add_writer(knocking, writable.set)
    try:
        await writable.wait()
    finally:
        loop.remove_writer(knocking)
    if error := knocking.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(error, os.strerror(error))


def trusting(authority_pem: str) -> ssl.SSLContext:
    """Make the one TLS context that all watches share: our authority and no other."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authority_pem)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET
    with contextlib.suppress(NotImplementedError):
        context.set_alpn_protocols(["http/1.1"])
    return context
