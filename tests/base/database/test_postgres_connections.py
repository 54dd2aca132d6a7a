"""Connections that died without a word are noticed before somebody is given one."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from leyden.base.database.postgres import PostgresDatabase
from leyden.base.database.postgres_errors import translating
from leyden.errors import DatabaseAway
from tests.ports import connected_to

_LONG = 31.0


class Router:
    """Passes on what is sent to PostgreSQL, until it forgets the connections."""

    def __init__(self, postgres_url: str) -> None:
        self._folder = parse_qs(urlsplit(postgres_url).query)["host"][0]
        self._forgotten: set[asyncio.StreamWriter] = set()
        self._callers: set[asyncio.StreamWriter] = set()
        self._passing: set[asyncio.Task[None]] = set()
        self.questions = 0  # that were passed on
        self.port = 0

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Router"]:
        """Listen for the block."""
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        yield self
        server.close()
        for task in self._passing:
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)

    def forget(self) -> None:
        """Drop what connections send from now on; end none of them."""
        self._forgotten |= self._callers

    def hang_up(self) -> None:
        """End all connections."""
        for caller in self._callers:
            caller.close()

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        path = str(Path(self._folder) / ".s.PGSQL.5432")
        far_reader, far_writer = await asyncio.open_unix_connection(path)
        self._callers.add(writer)
        for task in (
            asyncio.create_task(self._there_with(reader, far_writer, writer)),
            asyncio.create_task(self._back_with(far_reader, writer)),
        ):
            self._passing.add(task)

    async def _there_with(
        self,
        reader: asyncio.StreamReader,
        far: asyncio.StreamWriter,
        caller: asyncio.StreamWriter,
    ) -> None:
        with contextlib.closing(far), contextlib.closing(caller):
            while sent := await reader.read(65_536):
                if caller not in self._forgotten:
                    self.questions += 1
                    far.write(sent)

    async def _back_with(
        self, reader: asyncio.StreamReader, caller: asyncio.StreamWriter
    ) -> None:
        while answer := await reader.read(65_536):
            caller.write(answer)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def router(postgres_url: str) -> AsyncIterator[Router]:
    async with Router(postgres_url).open() as router:
        yield router


@pytest.fixture
async def database(
    router: Router, postgres_url: str, clock: Clock
) -> AsyncIterator[PostgresDatabase]:
    parts = urlsplit(postgres_url)
    user = parts.netloc.rpartition("@")[0]
    url = parts._replace(netloc=f"{user}@127.0.0.1:{router.port}", query="").geturl()
    database = await PostgresDatabase.open(url, clock=clock)
    heard = asyncio.Event()
    database.listen(lambda _: heard.set())
    await heard.wait()  # the listener is connected
    await database._pool.wait()  # or it would make another connection
    assert await database.reader.accounts.list_() == []
    yield database
    await database.close()


async def test_a_connection_that_a_router_has_forgotten_is_not_used(
    database: PostgresDatabase, router: Router, clock: Clock
) -> None:
    router.forget()
    clock.now += _LONG
    task = asyncio.ensure_future(database.reader.accounts.list_())
    _, waiting = await asyncio.wait([task], timeout=5)
    router.hang_up()  # nothing else ends a wait for an answer that never comes
    assert not waiting
    assert await task == []


async def test_a_connection_in_use_is_not_asked_before_each_use(
    database: PostgresDatabase, router: Router, clock: Clock
) -> None:
    request = []
    for idle_s in (0.0, _LONG - 2, _LONG - 2, _LONG):
        clock.now += idle_s
        before = router.questions
        await database.reader.accounts.list_()
        request.append(router.questions - before)
    assert request == [1, 1, 1, 2]


async def test_the_kernel_ends_connections_whose_other_end_is_gone(
    database: PostgresDatabase, router: Router
) -> None:
    await database.reader.accounts.list_()
    ours = connected_to(router.port)
    assert len(ours) == 2  # of the pool, and the listener's
    for line in ours:
        assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 20
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 15_000
        line.close()


async def test_a_server_that_only_follows_another_one_is_away(
    postgres_url: str,
) -> None:
    """As after a failover: nothing is read there that was overtaken, nor written."""
    name = urlsplit(postgres_url).path.removeprefix("/")
    read_only = "default_transaction_read_only"
    with psycopg.connect(postgres_url, autocommit=True) as hand:
        hand.execute(f"ALTER DATABASE {name} SET {read_only} = on")
    database = await PostgresDatabase.open(postgres_url)
    with pytest.raises(DatabaseAway):
        await database.reader.accounts.list_()
    with pytest.raises(DatabaseAway):
        async with database.transaction():
            pass
    with psycopg.connect(postgres_url, autocommit=True) as hand:
        hand.execute(f"SET {read_only} = off")
        hand.execute(f"ALTER DATABASE {name} RESET {read_only}")
    async with asyncio.timeout(10):  # it is the first one again
        while True:
            with contextlib.suppress(DatabaseAway):
                assert await database.reader.accounts.list_() == []
                break
    await database.close()


async def test_a_server_that_has_become_read_only_meanwhile_is_away(
    postgres_url: str,
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = on")
        with pytest.raises(DatabaseAway), translating():
            connection.execute("DELETE FROM task")
