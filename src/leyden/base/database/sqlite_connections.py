"""Connections to a SQLite file, with the settings that make a commit last."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from leyden.errors import SetupError

# Long enough for an operator's command to wait for the server, short enough for
# callers.
_BUSY_TIMEOUT_S = 4.0
_PREPARED = 256  # the number of cached statements: all of this program's
_LASTING: Mapping[str, set[object]] = {"synchronous": {2, 3}, "journal_mode": {"wal"}}


def connect(path: Path, *, timeout_s: float = _BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open the file with our settings: WAL, synchronous FULL, foreign keys."""
    connection = sqlite3.connect(
        path,
        timeout=timeout_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_PREPARED,
    )
    try:
        connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        connection.close()
        raise SetupError(f"{path}: cannot be opened: {error}") from None
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    # Keep the data of savepoints in memory: a temporary file costs seven writes for
    # each step, and is not needed after a crash.
    connection.execute("PRAGMA temp_store=MEMORY")
    return connection


def connect_to_write(path: Path) -> sqlite3.Connection:
    """Open the file for writing.

    The larger cache avoids writing pages twice when a thousand payments change
    them at once. The WAL is checkpointed a quarter as often as by default.
    """
    connection = connect(path)
    connection.execute("PRAGMA cache_size=-16000")
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    return connection


def durability_risks(connection: sqlite3.Connection) -> list[str]:
    """Return reasons why a commit here could be lost in a power cut."""
    found = []
    for name, lasting in _LASTING.items():
        (is_,) = connection.execute(f"PRAGMA {name}").fetchone()
        if is_ not in lasting:
            found.append(f"SQLite's {name} is {is_}")
    return found
