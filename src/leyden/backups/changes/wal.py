"""Read the changed pages of a SQLite database from its WAL, in the order of commits.

Writers append pages to the WAL; a checkpoint copies them into the database, and then
the WAL may restart. We always hold a read transaction: a checkpoint copies no pages
newer than it, and the WAL can't restart before we have read all of it. So no page is
missed, however fast others write, and no writer waits for us.

Only if the WAL has become long, `fold` blocks writers for some milliseconds, in which
it reads the last pages and checkpoints them, so that the WAL restarts.
"""

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leyden.backups.changes.wal_files import Index, WalFiles
from leyden.base.database.sqlite_turns import turns_path
from leyden.values import Struct

_AT_ONCE: Final = 1 << 24  # the most bytes to read while writers wait
_BUSY_S: Final = 0.25
_TICK_S: Final = 0.02  # longer than the resolution of file systems' timestamps


class WalPosition(Struct, frozen=True, kw_only=True):
    """A position in the WAL: its generation, a frame, and the frame's checksum."""

    salt: str = ""
    frame: int = 0
    sum: str = ""


class WalChange(Struct, frozen=True, kw_only=True):
    """The pages changed by some commits, and the database's size afterwards."""

    page_size: int
    length: int
    pages: dict[int, bytes]


class Wal:
    """Reads the changes of one database; always holds a read transaction."""

    def __init__(self, path: Path) -> None:
        """Start reading: no later commit is missed."""
        self._path = path
        self._reading = _connect(path)
        self._next = _connect(path)
        self._folding = _connect(path)
        self._writing = _connect(path)
        _begin(self._reading)
        self._files = WalFiles(path)
        self._turn = os.open(turns_path(path), os.O_RDWR | os.O_CREAT, 0o600)
        index = self._files.index()
        self.position = self._position(index)

    def resume(self, position: WalPosition, settled: str = "") -> bool:
        """Continue from an earlier position; return False if pages were missed.

        With the value that `settle` returned there, the WAL may have restarted since.
        """
        index = self._files.index()
        if position.salt != index.salt and settled == self._identity():
            self.position = WalPosition()  # everything in the WAL is newer
            return True
        if position.salt != index.salt or position.frame > index.frames:
            return False
        if self._files.sum_of(index, position.frame) != position.sum:
            return False
        self.position = position
        return True

    def read(self, *, limit: int = 1 << 62) -> WalChange | None:
        """Return the changes since the last call; None if there are none.

        If there are more than `limit` bytes to read, read nothing.
        """
        _begin(self._next)
        index = self._files.index()
        change = self._change(index, limit=limit)
        if change is not None:
            self._reading.execute("COMMIT")
            self._reading, self._next = self._next, self._reading
            self.position = self._position(index)
            return change if change.pages else None
        self._next.execute("COMMIT")
        return None

    def close(self) -> None:
        """Close the connections."""
        for each in (self._reading, self._next, self._folding, self._writing):
            each.close()
        os.close(self._turn)
        self._files.close()

    @property
    def length(self) -> int:
        """The number of pages in the WAL since it was restarted."""
        return self._files.index().frames

    def fold(self) -> WalChange | None:
        """Restart the WAL; return the changes until then.

        Return without restarting it if others are writing for long.
        """
        with self._moved() as (change, is_all):
            if is_all:
                # A reader that starts now does not need the WAL.
                self.read(limit=0)
        return change

    def settle(self) -> tuple[WalChange | None, str]:
        """Checkpoint all pages; return the changes until then.

        Also return a value that identifies the database file until the next checkpoint;
        "" if others are writing for long.
        """
        with self._moved() as (change, is_all):
            if not is_all:
                return change, ""
            time.sleep(_TICK_S)  # so that the next write has a later timestamp
            return change, self._identity()

    @contextlib.contextmanager
    def _moved(self) -> Iterator[tuple[WalChange | None, bool]]:
        """Read and checkpoint all pages while writers wait; yield if that worked."""
        self._folding.execute("PRAGMA wal_checkpoint(PASSIVE)")
        with self._alone() as alone:
            change = self.read(limit=_AT_ONCE) if alone else None
            index = self._files.index()
            if not alone or self.position != self._position(index):
                yield change, False
                return
            checkpoint = self._folding.execute(
                "PRAGMA wal_checkpoint(PASSIVE)"
            ).fetchone()
            yield change, checkpoint[1] == checkpoint[2]

    def _identity(self) -> str:
        found = self._path.stat()
        return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        """Block writers for the block; yield False if one writes for long."""
        until = time.monotonic() + _BUSY_S
        while not _locked(self._turn) and time.monotonic() < until:
            time.sleep(0.001)
        try:
            self._writing.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            yield False
            return
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)
        try:
            yield True
        finally:
            self._writing.execute("ROLLBACK")

    def _change(self, index: Index, *, limit: int) -> WalChange | None:
        first = self.position.frame if index.salt == self.position.salt else 0
        if index.size(first) > limit:
            return None
        return WalChange(
            page_size=index.page_size,
            length=index.length,
            pages=self._files.pages(index, first),
        )

    def _position(self, index: Index) -> WalPosition:
        return WalPosition(
            salt=index.salt,
            frame=index.frames,
            sum=self._files.sum_of(index, index.frames),
        )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=_BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    return connection


def _begin(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
