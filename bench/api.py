"""B4: what a request costs, beside the least that a server can do.

    ./leyden bench api [ROUNDS]

List and get at ten nodes of ten thousand, with key, rate limit and database, against a
raw application on the same server that answers the same bytes without a thought, and
against FastAPI with a response model and neither key nor database. Then the same while
somebody commits all the time, which ends whatever is remembered; and how long the
slowest of a hundred wait at half of what each can do.
"""

import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from urllib.request import Request, urlopen

from bench.contenders import Contender, contender
from bench.crowd import fill
from bench.installation import Customer, prepare, served
from bench.load import Load, ask
from bench.measure import Figures, Report, turns

_CROWD = 9_990
_COMMITS_PER_S = 200
_BESIDE_COMMITS = ("raw", "list")
_AT_HALF = ("raw", "list", "raw again")


@dataclass(frozen=True)
class Target:
    """One contender at one address."""

    url: str
    pid: int


def main(rounds: int = 10) -> int:
    """Measure and report."""
    speed, work = Figures(), Figures()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        customer = prepare(folder)
        fill(folder, nodes=_CROWD)
        ours = stack.enter_context(served(folder))
        targets = _targets(stack, folder, ours, customer)
        for name in turns(list(targets), rounds=rounds):
            load = _asked(targets[name], customer)
            speed.add(name, load.per_second)
            work.add(name, 1 / load.cpu_us)
        beside, slowest = Figures(), Figures()
        with _commits(folder):
            for name in turns(_BESIDE_COMMITS, rounds=rounds):
                load = _asked(targets[name], customer)
                beside.add(name, 1 / load.cpu_us)
        for name in turns(_AT_HALF, rounds=rounds):
            load = _asked(targets[name], customer, speed.median(name) / 2)
            slowest.add(name, load.p99_us)
    report = Report("B4 API: 10 nodes of 10,000, SQLite, 32 connections, keep-alive")
    for name in targets:
        micro = 1 / work.median(name)
        report.note(f"{name}: {speed.median(name):,.0f}/s, {micro:.0f} us each")
    for figures, what in ((speed, "requests/s"), (work, "requests/processor-s")):
        null = figures.ratio("raw again", "raw", what=f"{what}: raw again / raw")
        report.null(null)
        for name, base, goal in (
            ("list", "raw", 0.5),
            ("get", "raw get", 0.5),
            ("list", "fastapi", 1.5),
        ):
            ratio = figures.ratio(name, base, what=f"{what}: {name} / {base}")
            report.at_least(goal, ratio)
    what = f"requests/processor-s beside {_COMMITS_PER_S} commits/s: list / raw"
    report.note(str(beside.ratio("list", "raw", what=what)))
    what = "p99 at half load"
    report.null(slowest.ratio("raw again", "raw", what=f"{what}: raw again / raw"))
    report.at_most(3, slowest.ratio("list", "raw", what=f"{what}: list / raw"))
    return report.end()


def _asked(target: Target, customer: Customer, per_second: float = 0) -> Load:
    return ask(
        target.url,
        target.pid,
        headers={"X-SERVICE-AUTH": customer.key},
        seconds=1,
        per_second=per_second,
    )


@contextmanager
def _commits(folder: Path) -> Iterator[None]:
    """Commit something all the time, from another process than the server's."""
    over = Event()

    def write() -> None:
        with closing(sqlite3.connect(folder / "leyden.db", timeout=10)) as database:
            database.execute("PRAGMA synchronous=OFF")
            while not over.wait(1 / _COMMITS_PER_S):
                with database:
                    database.execute("UPDATE api_key SET hint = hint")

    writer = Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def _targets(
    stack: ExitStack, folder: Path, ours: Contender, customer: Customer
) -> dict[str, Target]:
    listing = f"{ours.url}{customer.nodes}"
    getting = f"{listing}/{customer.node_id}"
    lists, gets = folder / "list.json", folder / "get.json"
    for url, path in ((listing, lists), (getting, gets)):
        with urlopen(Request(url, headers={"X-SERVICE-AUTH": customer.key})) as answer:
            path.write_bytes(answer.read())
    targets = {
        "list": Target(listing, ours.pid),
        "get": Target(getting, ours.pid),
    }
    for name, kind, path in (
        ("raw", "raw", lists),
        ("raw get", "raw", gets),
        ("fastapi", "fastapi", lists),
        ("raw again", "raw", lists),
    ):
        running = stack.enter_context(contender(kind, path))
        targets[name] = Target(f"{running.url}{customer.nodes}", running.pid)
    with urlopen(targets["fastapi"].url) as answer:
        assert answer.read() == lists.read_bytes(), "FastAPI answers something else"
    return targets


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
