"""B19: the cost of following the database, and the speed of a restore.

    ./leyden bench backup [--payments 8000] [--rounds 4] [--gib 1]

Payments are settled, and orders read one by one beside a writer, with and without a
process that follows the database and sends its changes to a store on the same disk.
Then a database of so much history is backed up and restored, against copying its file
to where the restore puts it, both until it is on the disk; and against restic alone,
which decrypts and verifies as much and puts nothing in place: the limit of its kind.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import uvloop
from bench import settlement
from bench.measure import Figures, Report, turns

from leyden.app.migration import migrate
from leyden.backups import backup_files, running
from leyden.backups.backup_files import Programs
from leyden.backups.store import recovery
from leyden.backups.store.recovery import RecoveryKey
from leyden.backups.store.store import Store, StoreAccess
from leyden.backups.wiring import backup_setup, restoring
from leyden.base import garbage, logs, settings
from leyden.base.database.database import open_database
from leyden.base.files import sync_all
from leyden.base.opening import opened
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings

GOAL, RESTORE_GOAL = 1.1, 0.5
_ITSELF = "from leyden.app.main import main; main()"
_READS_S = 2.0
_WRITES_EVERY_S = 0.005
_LINE = 1_000


class Home:
    """A home with a store, for one turn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "home").mkdir(mode=0o700)
        self.environment = {
            "LEYDEN_HOME": str(folder / "home"),
            "LEYDEN_BACKUP_STORE": str(folder / "store"),
        }

    @property
    def given(self) -> Settings:
        """The settings of the home."""
        return settings.load(self.environment)

    async def set_up(self, programs: Programs) -> None:
        """Create the store."""
        await asyncio.to_thread(migrate, self.given)
        async with opened(self.given) as platform:
            key = self.folder / "recovery.key"
            await backup_setup.set_up(platform, programs, key)

    @contextlib.contextmanager
    def followed(self) -> Iterator[None]:
        """Have the database followed for the block, and prove that it was."""
        process = subprocess.Popen(
            [sys.executable, "-c", _ITSELF, "backup", "follow"],
            env={**os.environ, **self.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        while not json.loads(process.stdout.readline())["chain"]:
            pass
        try:
            yield
        finally:
            process.stdin.close()
            *_, last = process.stdout.read().splitlines()
            assert process.wait() == 0
        assert json.loads(last)["number"] > 0
        assert json.loads(last)["trouble"] == ""


async def settled(home: Home, payments: int) -> float:
    """Return the payments per second that reach `created`."""
    return await settlement.ours(home.given.database, payments)


async def read(home: Home, orders: int) -> float:
    """Return the reads per second, beside a writer."""
    database = await open_database(home.given.database)

    async def write() -> None:
        while True:
            async with database.transaction() as tx:
                await tx.audit.add(
                    at=utc_now(), actor="bench", action="wrote", subject=""
                )
            await asyncio.sleep(_WRITES_EVERY_S)

    writing = asyncio.create_task(write())
    found, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < _READS_S:
        order = settlement.an_order(found % orders)
        await database.reader.orders.get(order.id)
        found += 1
        if found % 100 == 0:
            await asyncio.sleep(0)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    await database.close()
    return found / took


def follow(report: Report, programs: Programs, payments: int, rounds: int) -> None:
    """Compare settling and reading with and without a follower."""
    settling, reading = Figures(), Figures()
    for name in turns(["alone", "followed", "alone again"], rounds=rounds):
        with tempfile.TemporaryDirectory(dir=_disk()) as folder:
            home = Home(Path(folder))
            asyncio.run(home.set_up(programs))
            with home.followed() if name == "followed" else contextlib.nullcontext():
                settling.add(name, 1 / uvloop.run(settled(home, payments)))
                reading.add(name, 1 / uvloop.run(read(home, payments)))
    for what, figures in (("settlement", settling), ("reads", reading)):
        for name in figures.names:
            report.note(f"{what}, {name}: {1 / figures.median(name):,.0f} a second")
        report.null(figures.ratio("alone again", "alone", what=f"{what}: alone"))
        ratio = figures.ratio("followed", "alone", what=f"{what}: followed / alone")
        report.at_most(GOAL, ratio)


async def restore(report: Report, programs: Programs, gib: float, rounds: int) -> None:
    """Compare a restore of much history with a copy of its file."""
    with tempfile.TemporaryDirectory(dir=_disk()) as folder:
        home = Home(Path(folder))
        await home.set_up(programs)
        path = home.folder / "home/leyden.db"
        await asyncio.to_thread(_fill, path, int(gib * (1 << 30)))
        async with opened(home.given) as platform:
            began = time.perf_counter()
            await running.run(platform, programs)
            took = time.perf_counter() - began
        size = path.stat().st_size
        report.note(f"{size >> 20:,} MiB backed up in {took:.1f} s")
        key = recovery.read(home.folder / "recovery.key")
        figures = Figures()
        bare = Store(restic=programs.restic, access=_access(home, key))
        snapshot = await bare.find()
        for name in turns(["copy", "restore", "restic alone"], rounds=rounds):
            new = home.folder / "new"
            began = time.perf_counter()
            if name == "copy":
                await asyncio.to_thread(_copy, path, new)
            elif name == "restic alone":
                await bare.fetch(snapshot, new)
                await asyncio.to_thread(sync_all, new)
            else:
                given = settings.load({**home.environment, "LEYDEN_HOME": str(new)})
                await restoring.restore(given, programs, key)
            figures.add(name, size / (time.perf_counter() - began))
            shutil.rmtree(new)
        for name in figures.names:
            report.note(f"{name}: {figures.median(name) / (1 << 20):,.0f} MiB a second")
        ratio = figures.ratio("restore", "restic alone", what="restore / restic alone")
        report.note(str(ratio))
        report.at_least(RESTORE_GOAL, figures.ratio("restore", "copy"))


def _access(home: Home, key: RecoveryKey) -> StoreAccess:
    store = home.environment["LEYDEN_BACKUP_STORE"]
    return StoreAccess(location=store, password=key.password, deadline_s=60)


def _fill(path: Path, size: int) -> None:
    """Add lines to the audit until the file is so large."""
    at = int((utc_now() - timedelta(days=30)).timestamp() * 1_000_000)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous=OFF")
        columns = database.execute("PRAGMA table_info(audit)").fetchall()
        names = [name for _, name, *_ in columns]
        marks = ", ".join("?" * len(names))
        statement = f"INSERT INTO audit ({', '.join(names)}) VALUES ({marks})"  # noqa: S608
        while path.stat().st_size < size:
            database.executemany(statement, [_row(names, at) for _ in range(20_000)])
            database.commit()
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _row(names: list[str], at: int) -> list[object]:
    detail = json.dumps({"words": os.urandom(_LINE // 2).hex()})
    given: dict[str, object] = {
        "id": os.urandom(8).hex(),
        "at": at,
        "detail": detail,
        "organization_id": None,
    }
    return [given.get(name, "bench") for name in names]


def _copy(path: Path, folder: Path) -> None:
    folder.mkdir()
    shutil.copyfile(path, folder / path.name)
    with (folder / path.name).open("rb+") as file:
        os.fsync(file.fileno())


def _disk() -> str:
    """Return a folder on a disk: in memory no sync takes time."""
    return os.environ.get("BENCH_FOLDER", str(Path.cwd()))


def main() -> int:
    """Measure both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--payments", type=int, default=8_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--only", choices=["follow", "restore"])
    given = parser.parse_args()
    logs.configure(form="text", level="warning")
    garbage.freeze()
    programs = asyncio.run(backup_files.programs(os.environ))
    report = Report("B19 backups: what following costs, and how fast a restore is")
    if given.only != "restore":
        follow(report, programs, given.payments, given.rounds)
    if given.only != "follow":
        asyncio.run(restore(report, programs, given.gib, given.rounds))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
