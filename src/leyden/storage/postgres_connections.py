"""The connections of a pool to PostgreSQL: how they are set up, and checked."""

import asyncio
import contextlib
import os
import select
import socket
import time
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from psycopg import AsyncConnection
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import AsyncConnectionPool

# A server that lost its power ends no connection, nor does a router that forgot one:
# the kernel finds out, within 35 s when nothing is sent and 15 s when something is.
# A server that only follows another one is none: after a failover its name may still
# lead there, and a pool would keep that connection for an hour.
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
_ANSWERS_S = 1.0  # well within the wait for a connection, so that there is another
_SETUP = """
-- Nothing of ours waits inside a transaction, but a process may be stopped there.
SET idle_in_transaction_session_timeout = '10s';
-- A plan for a list of one looks cheaper than one for any list, so the server would
-- make it anew at each execution, which takes longer than the execution.
SET plan_cache_mode = force_generic_plan"""


class Connections:
    """Sets up each connection of a pool, and checks it before each use."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._given: WeakKeyDictionary[AsyncConnection[Any], float] = (
            WeakKeyDictionary()
        )

    async def configure(self, connection: AsyncConnection[Any]) -> None:
        """Send each number as BIGINT, plan once, leave no transaction open for long.

        Left to itself psycopg takes the smallest type that a number fits in: to the
        server these would be many statements, each prepared anew. A process that is
        frozen inside a transaction would hold its locks until it is thawed, and the
        others would wait.
        """
        connection.adapters.register_dumper(int, Int8Dumper)
        await connection.execute(_SETUP)
        self._given[connection] = self._clock()

    async def check(self, connection: AsyncConnection[Any]) -> None:
        """Raise an error if the connection has ended.

        A server that ends it leaves something to read: its reason, or the end of the
        stream. Only then, or after a while without use, is the server asked, as a round
        trip before each use would cost more than most statements.
        """
        idle_s = self._clock() - self._given[connection]
        if _has_something_to_read(connection) or idle_s > _IDLE_S:
            await _ask(connection)
        self._given[connection] = self._clock()


def _has_something_to_read(connection: AsyncConnection[Any]) -> bool:
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


async def _ask(connection: AsyncConnection[Any]) -> None:
    """Make a round trip; raise an error if no answer comes soon.

    psycopg waits for the answer to a cancelled statement too, which may never come. So
    the socket is shut down instead: that ends every wait for it.
    """
    silent = asyncio.Event()

    def hang_up() -> None:
        silent.set()
        with (
            contextlib.suppress(OSError, psycopg.Error),  # it has ended meanwhile
            socket.socket(fileno=os.dup(connection.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)

    late = asyncio.get_running_loop().call_later(_ANSWERS_S, hang_up)
    try:
        await AsyncConnectionPool.check_connection(connection)
    finally:
        late.cancel()
    if silent.is_set():  # the answer came while it was shut down
        raise psycopg.OperationalError("the connection was silent for too long")
