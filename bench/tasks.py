"""The task queue: tasks per second against one commit each, and latency.

Both sides do the same durable work on SQLite with synchronous=FULL: each task moves one
order, writes two entries and one event, and goes from the queue. The base is one bare
connection that commits once a task, with no queue around it.

    ./leyden bench tasks
"""

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from statistics import median

import uvloop
from bench.measure import Figures, Report, turns

from leyden.domain.times import utc_now
from leyden.storage.database import Database, open_database
from leyden.storage.schema import migrate
from leyden.storage.statements import Statement
from leyden.storage.stores import Stores
from leyden.tasks.queues import Queue
from leyden.tasks.work import Work
from leyden.tasks.worker import Worker

TASKS = 3_000
ROUNDS = 8
_MOVE = Statement(
    "UPDATE bench_order SET state = 'paid' WHERE id = :id AND state = 'new'"
)
_BOOK = Statement("INSERT INTO bench_entry VALUES (:id, :sats)")
_SCHEMA = (
    "CREATE TABLE bench_order (id TEXT PRIMARY KEY, state TEXT) STRICT",
    "CREATE TABLE bench_entry (id TEXT, sats INTEGER) STRICT",
)


def fresh(path: Path) -> str:
    """Make a database with orders that wait to be paid."""
    url = f"sqlite:///{path}"
    migrate(url)
    connection = sqlite3.connect(path)
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO bench_order VALUES (?, 'new')",
        [(str(number),) for number in range(TASKS)],
    )
    connection.commit()
    connection.close()
    return url


def one_commit_each(path: Path) -> float:
    """Return the base: tasks a second when each is one commit of one connection."""
    fresh(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    began = time.perf_counter()
    for number in range(TASKS):
        key = str(number)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "UPDATE bench_order SET state = 'paid' WHERE id = ? AND state = 'new'",
            (key,),
        )
        connection.execute("INSERT INTO bench_entry VALUES (?, 100)", (key,))
        connection.execute("INSERT INTO bench_entry VALUES (?, -100)", (key,))
        connection.execute(
            "INSERT INTO audit VALUES (?, 0, 'bench', NULL, 'paid', ?, '{}')",
            (key, key),
        )
        connection.execute("COMMIT")
    rate = TASKS / (time.perf_counter() - began)
    check(connection)
    return rate


def queued(path: Path) -> float:
    """Return ours: tasks a second through the queue, each put and done durably."""
    return uvloop.run(_queued(fresh(path), path))


async def _queued(url: str, path: Path) -> float:
    database = await open_database(url)
    done = asyncio.Event()
    left = TASKS

    async def pay(work: Work) -> None:
        nonlocal left
        async with work.transaction() as tx:
            await _pay(tx, work.key)
            await work.done(tx)
        left -= 1
        if left == 0:
            done.set()

    async def put(number: int) -> None:
        async with database.transaction() as tx:
            await tx.tasks.put("pay", str(number), due=utc_now())

    queue = Queue(kind="pay", run=pay, concurrency=64)
    worker = asyncio.create_task(Worker(database, [queue], clock=utc_now).run())
    began = time.perf_counter()
    await asyncio.gather(*(put(number) for number in range(TASKS)))
    await done.wait()
    rate = TASKS / (time.perf_counter() - began)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    await database.close()
    check(sqlite3.connect(path))
    return rate


async def _pay(tx: Stores, key: str) -> None:
    run = tx.tasks._run  # noqa: SLF001  the bench's own tables have no noun
    await run(_MOVE, id=key)
    await run(_BOOK, id=key, sats=100)
    await run(_BOOK, id=key, sats=-100)
    await tx.audit.add(at=utc_now(), actor="bench", action="paid", subject=key)


def check(connection: sqlite3.Connection) -> None:
    """Check that every task was done exactly once."""
    [(paid, sats, entries, lines)] = connection.execute(
        "SELECT (SELECT count(*) FROM bench_order WHERE state = 'paid'),"
        " (SELECT sum(sats) FROM bench_entry), (SELECT count(*) FROM bench_entry),"
        " (SELECT count(*) FROM audit WHERE action = 'paid')"
    ).fetchall()
    assert (paid, sats, entries, lines) == (TASKS, 0, 2 * TASKS, TASKS)
    connection.close()


async def due_to_started(url: str) -> Sequence[float]:
    """Return the milliseconds from due to started, on an idle queue."""
    database: Database = await open_database(url)
    late: list[float] = []

    async def note(work: Work) -> None:
        late.append((utc_now() - dues[work.key]).total_seconds() * 1e3)

    queue = Queue(kind="note", run=note)
    worker = asyncio.create_task(Worker(database, [queue], clock=utc_now).run())
    dues = {}
    for number in range(100):
        key = str(number)
        # Half of them are due at once, half a little later.
        dues[key] = utc_now() + timedelta(milliseconds=20 * (number % 2))
        async with database.transaction() as tx:
            await tx.tasks.put("note", key, due=dues[key])
        await asyncio.sleep(0.05)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    await database.close()
    return late


def main() -> int:
    """Compare by turns, then look at the pauses."""
    report = Report("tasks: through the queue against one commit each")
    contenders = {
        "one commit each": one_commit_each,
        "queue": queued,
        "one commit each again": one_commit_each,
    }
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(turns(list(contenders), rounds=ROUNDS)):
            path = Path(folder) / f"{number}.db"
            figures.add(name, contenders[name](path))
        report.note(f"one commit each: {figures.median('one commit each'):,.0f}/s")
        report.note(f"queue: {figures.median('queue'):,.0f}/s")
        report.null(figures.ratio("one commit each again", "one commit each"))
        report.at_least(1.0, figures.ratio("queue", "one commit each"))
        late = uvloop.run(due_to_started(fresh(Path(folder) / "late.db")))
    report.note(f"due to started: median {median(late):.1f} ms, worst {max(late):.1f}")
    report.holds("half of all tasks start within 10 ms", met=median(late) <= 10)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
