"""Set up, check and share out the connections of a pool to PostgreSQL."""

import asyncio
import contextlib
import os
import select
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from psycopg import AsyncConnection
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import AsyncConnectionPool

from leyden.base.fair_queue import OWNER, PLATFORM, FairSlots
from leyden.errors import DatabaseAway

# A server without power does not close connections, nor does a router that has dropped
# them. The kernel notices it within 35 s if nothing is sent, and within 15 s otherwise.
# A standby server is rejected: after a failover the name may still resolve to it, and
# the pool would keep that connection for an hour.
CONNECTING: Final[dict[str, Any]] = {
    "autocommit": True,
    "connect_timeout": 4,
    "keepalives": 1,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "target_session_attrs": "read-write",
}
_IDLE_S = 30.0
_RESPONSE_S = 1.0  # well below the wait for a connection, so another can be tried
_SETUP = """
-- Our programs never wait inside a transaction, but a process may be frozen there.
SET idle_in_transaction_session_timeout = '10s';
-- The server estimates a plan for a list of one as cheaper than a generic one, so it
-- would plan again at each execution, which takes longer than the execution.
SET plan_cache_mode = force_generic_plan"""
MAX_OF_ONE: Final = 4
_LEAST_S: Final = 1.0  # for a connection, which may have to be opened
_RETRY_AFTER_S: Final = 5


class PostgresConnections:
    """Sets up each connection of a pool, and checks it before each use."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._given: WeakKeyDictionary[AsyncConnection[Any], float] = (
            WeakKeyDictionary()
        )

    async def configure(self, connection: AsyncConnection[Any]) -> None:
        """Send numbers as BIGINT, use generic plans, limit idle transactions.

        By default psycopg sends a number as the smallest type that fits: for the server
        these are different statements, each prepared separately. A process that is
        frozen inside a transaction would hold its locks until it runs again, and others
        would wait for them.
        """
        connection.adapters.register_dumper(int, Int8Dumper)
        await connection.execute(_SETUP)
        self._given[connection] = self._clock()

    async def check(self, connection: AsyncConnection[Any]) -> None:
        """Raise an error if the connection is closed.

        When the server closes it, there is something to read: a reason, or the end of
        the stream. Only then, or after a while without use, make a round trip: before
        each use that would cost more than most statements.
        """
        idle_s = self._clock() - self._given[connection]
        if _has_something_to_read(connection) or idle_s > _IDLE_S:
            await _ping(connection)
        self._given[connection] = self._clock()


def _has_something_to_read(connection: AsyncConnection[Any]) -> bool:
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


async def _ping(connection: AsyncConnection[Any]) -> None:
    """Make a round trip; raise an error without a response in time.

    psycopg also waits for the response to a cancelled statement, which may never
    arrive. So the socket is shut down instead, which ends every wait for it.
    """
    silent = asyncio.Event()

    def hang_up() -> None:
        silent.set()
        with (
            contextlib.suppress(OSError, psycopg.Error),  # it was closed meanwhile
            socket.socket(fileno=os.dup(connection.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)

    late = asyncio.get_running_loop().call_later(_RESPONSE_S, hang_up)
    try:
        await AsyncConnectionPool.check_connection(connection)
    finally:
        late.cancel()
    if silent.is_set():  # the response arrived while it was shut down
        raise psycopg.OperationalError("the connection was silent for too long")


class WriteSlots:
    """The connections for writing, granted to organizations in turns.

    A connection is busy while its statement waits for a lock: writers of one
    organization that lock its row could occupy all connections of the pool, and all
    other writers would wait behind them. So each organization has only a few at a time,
    and the next free one goes to the organization that has waited longest. The
    platform's own writers may use all of them.
    """

    def __init__(self, number: int, *, of_one: int = MAX_OF_ONE) -> None:
        self._slots = FairSlots(
            number, lambda owner: number if owner == PLATFORM else of_one
        )

    @asynccontextmanager
    async def taken(self, within_s: float) -> AsyncIterator[float]:
        """Hold a slot for the block; yield the remaining time to wait, in seconds.

        Raise DatabaseAway if none becomes free in time.
        """
        loop = asyncio.get_running_loop()
        began, owner = loop.time(), OWNER.get()
        try:
            async with asyncio.timeout(within_s):
                await self._slots.acquire(owner)
        except TimeoutError:
            raise DatabaseAway(retry_after_s=_RETRY_AFTER_S) from None
        try:
            yield max(_LEAST_S, began + within_s - loop.time())
        finally:
            self._slots.release(owner)
