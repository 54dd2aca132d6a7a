"""Connection limits and timeouts for the HTTP server.

One timer checks all connections twice a second, and only while any are
open. A timer for each request would charge honest clients for it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from time import time
from typing import Protocol

from uvicorn.server import ServerState

from leyden import __version__
from leyden.base.processes import share
from leyden.values import Struct, field


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """Limits per connection, per client address and in total."""

    header_bytes: int = 16 * 1024
    headers: int = 100
    target_bytes: int = 8 * 1024
    body_bytes: int = 256 * 1024
    pipelined: int = 16
    header_s: float = 5
    """From the first byte (or the connection) to the end of the headers."""
    body_s: float = 10
    """For the body, and more for as long as it comes at `body_rate` or faster."""
    body_rate: int = 16 * 1024
    idle_s: float = 60
    send_s: float = 30
    """For a caller who does not take the answer."""
    linger_s: float = 2
    """For a refused caller to stop sending and read why."""
    look_every_s: float = 0.5
    connections: int = field(default_factory=lambda: share(3, enough=4_000))
    connections_per_address: int = 1_000


class ClientConnection(Protocol):
    """The methods the connection registry calls on a connection."""

    @property
    def address(self) -> str:
        """The client address that the limits count by."""

    @property
    def is_idle(self) -> bool:
        """Whether the connection has no complete request in progress.

        Nothing is lost by closing such a connection.
        """

    def check_timeouts(self, now_s: float) -> None:
        """Close the connection or fail its request if a timeout has passed."""

    def abort(self) -> None:
        """Close the connection to free its place for another."""

    def shutdown(self) -> None:
        """Accept no further requests; close at once if none is in progress."""


class HttpConnections:
    """All open connections of the listeners that share this registry.

    When the limit is reached, the oldest idle connection is closed to admit
    the new one: a client with a thousand silent connections loses them, and
    no other client notices. One whose body is not complete is idle, too: most
    endpoints know who sends it, but not all, and nothing was done with it yet.
    """

    def __init__(
        self, limits: ConnectionLimits, *, wall: Callable[[], float] = time
    ) -> None:
        self.limits = limits
        self.state = ServerState()
        self.is_closing = False  # soon: each response says that its connection ends
        self._wall = wall
        self._all: dict[ClientConnection, None] = {}
        self._by_address: dict[str, dict[ClientConnection, None]] = {}
        self._looks = False
        self._emptied = asyncio.Event()

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._all)

    def admit(self, newcomer: ClientConnection) -> bool:
        """Admit a connection if a place is free or an idle one can close."""
        siblings = self._by_address.get(newcomer.address, {})
        full = [
            group
            for group, limit in (
                (siblings, self.limits.connections_per_address),
                (self._all, self.limits.connections),
            )
            if len(group) >= limit
        ]
        for group in full[:1]:
            oldest = next((each for each in group if each.is_idle), None)
            if oldest is None:
                return False
            self.forget(oldest)
            oldest.abort()
        self._all[newcomer] = None
        self._by_address.setdefault(newcomer.address, {})[newcomer] = None
        self._emptied.clear()
        if not self._looks:
            self._check()
        return True

    def forget(self, leaver: ClientConnection) -> None:
        """Unregister a connection; a second call has no effect."""
        if leaver not in self._all:
            return
        del self._all[leaver]
        siblings = self._by_address[leaver.address]
        del siblings[leaver]
        if not siblings:
            del self._by_address[leaver.address]
        if not self._all:
            self._emptied.set()

    async def close(self, *, grace_s: float, last_s: float) -> None:
        """Wait up to `grace_s` for requests in progress, then close all."""
        until_s = asyncio.get_running_loop().time() + grace_s
        for each in list(self._all):
            each.shutdown()
        await self._wait_for_all(grace_s)
        await self._wait_for_tasks(until_s - asyncio.get_running_loop().time())
        for task in self.state.tasks:
            task.cancel()
        await self._wait_for_tasks(last_s)
        for each in list(self._all):
            each.abort()
        await self._wait_for_all(last_s)

    async def _wait_for_all(self, max_s: float) -> None:
        if self._all:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._emptied.wait(), max_s)

    async def _wait_for_tasks(self, max_s: float) -> None:
        if self.state.tasks:
            await asyncio.wait(set(self.state.tasks), timeout=max(0.0, max_s))

    def _check(self) -> None:
        self._looks = bool(self._all)
        if not self._looks:
            return
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        self.state.default_headers = [
            (b"date", formatdate(self._wall(), usegmt=True).encode()),
            (b"leyden-version", __version__.encode()),
        ]
        for each in list(self._all):
            each.check_timeouts(now_s)
        loop.call_later(self.limits.look_every_s, self._check)
