"""Each page of a SQLite database that changes is read, whatever others do."""

import fcntl
import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from leyden.backups.changes.wal import Wal, WalChange
from leyden.base.database.sqlite_connections import connect, connect_to_write
from leyden.base.database.sqlite_turns import turns_path

COMMITS = 400


class Copy:
    """A copy of a database, to which changes are applied."""

    def __init__(self, source: Path) -> None:
        self.path = source.with_name("copy.db")
        with (
            closing(sqlite3.connect(source)) as original,
            closing(sqlite3.connect(self.path)) as copied,
        ):
            original.backup(copied)

    def apply(self, change: WalChange | None) -> None:
        if change is None:
            return
        with self.path.open("r+b") as file:
            for number, page in change.pages.items():
                file.seek((number - 1) * change.page_size)
                file.write(page)
            file.truncate(change.length * change.page_size)


@pytest.fixture
def path(memory_path: Path) -> Path:
    path = memory_path / "some.db"
    with closing(connect_to_write(path)) as database:
        database.execute("CREATE TABLE thing (id INTEGER PRIMARY KEY, body BLOB)")
    return path


@pytest.fixture
def open_path(path: Path) -> Iterator[Path]:
    """As while a platform runs: somebody has it open."""
    with closing(connect(path)):
        yield path


def write(path: Path, commits: int) -> None:
    """Write at random, in turns as the platform does."""
    dice = random.Random(commits)  # noqa: S311  the same each time
    turn = os.open(turns_path(path), os.O_RDWR | os.O_CREAT, 0o600)
    with closing(connect_to_write(path)) as database:
        database.execute("PRAGMA synchronous=OFF")  # many commits are the point
        for _ in range(commits):
            fcntl.flock(turn, fcntl.LOCK_EX)
            database.execute("BEGIN IMMEDIATE")
            fcntl.flock(turn, fcntl.LOCK_UN)
            for _ in range(20):
                row = (dice.randrange(4_000), dice.randbytes(dice.randrange(2_000)))
                database.execute("REPLACE INTO thing VALUES (?, ?)", row)
            if dice.random() < 0.02:
                database.execute("DELETE FROM thing WHERE id % 3 = 0")
            database.execute("COMMIT")
    os.close(turn)


def content(path: Path) -> list[tuple[int, bytes]]:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return list(database.execute("SELECT * FROM thing"))


def test_beside_a_busy_writer_nothing_is_missed_and_the_wal_stays_short(
    open_path: Path,
) -> None:
    wal = Wal(open_path)
    generations = {wal.position.salt}
    writer = threading.Thread(target=write, args=(open_path, COMMITS))
    writer.start()
    copy = Copy(open_path)  # in the midst of it
    while writer.is_alive():
        copy.apply(wal.read())
        if wal.length > 200:
            copy.apply(wal.fold())
        generations.add(wal.position.salt)
    writer.join()
    copy.apply(wal.read())
    assert wal.read() is None
    wal.close()
    assert content(copy.path) == content(open_path)
    assert len(generations) > 2


def test_without_folding_no_checkpoint_takes_away_what_was_not_read(
    open_path: Path,
) -> None:
    wal, copy = Wal(open_path), Copy(open_path)
    for _ in range(2):  # what keeps it is taken anew at each reading
        write(open_path, 20)
        with closing(connect(open_path)) as other:
            busy, _, _ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert busy
        copy.apply(wal.read())
    wal.close()
    assert content(copy.path) == content(open_path)


def test_who_reads_goes_on_where_somebody_else_stopped(open_path: Path) -> None:
    copy = Copy(open_path)
    first = Wal(open_path)
    write(open_path, 5)
    copy.apply(first.read())
    position = first.position
    write(open_path, 5)
    first.close()
    second = Wal(open_path)
    assert second.resume(position)
    copy.apply(second.read())
    second.close()
    assert content(copy.path) == content(open_path)


def test_pages_that_were_moved_while_nobody_read_are_known_to_be_missed(
    open_path: Path,
) -> None:
    wal = Wal(open_path)
    write(open_path, 5)
    wal.read()
    position = wal.position
    wal.close()
    with closing(connect(open_path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    write(open_path, 5)
    wal = Wal(open_path)
    assert not wal.resume(position)
    wal.close()


def test_a_wal_that_went_back_and_on_otherwise_is_another_one(
    path: Path, memory_path: Path
) -> None:
    with closing(connect(path)) as database:
        database.execute("INSERT INTO thing VALUES (1, 'a')")
        (memory_path / "old").mkdir()
        for each in ("some.db", "some.db-wal"):
            shutil.copy(memory_path / each, memory_path / "old" / each)
        database.execute("INSERT INTO thing VALUES (2, 'b')")
        wal = Wal(path)
        position = wal.position
        wal.close()
    old = memory_path / "old" / "some.db"
    with closing(connect(old)) as database:
        database.execute("INSERT INTO thing VALUES (2, 'c')")
        wal = Wal(old)
        assert wal.position.frame == position.frame
        assert not wal.resume(position)
        wal.close()


def test_while_somebody_writes_for_long_nobody_is_kept_waiting(
    open_path: Path,
) -> None:
    wal, copy = Wal(open_path), Copy(open_path)
    write(open_path, 5)
    with closing(connect_to_write(open_path)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO thing VALUES (9999, 'x')")
        assert wal.fold() is None
        other.execute("COMMIT")
    copy.apply(wal.read())
    wal.close()
    assert content(copy.path) == content(open_path)
