"""Connections to a SQLite file, with the settings that make a commit last."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from leyden.errors import SetupError

# Long enough for an operator's command beside the server, short enough for a caller.
_BUSY_TIMEOUT_S = 4.0
_PREPARED = 256  # statements that are kept: all of the program's own
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
    # What a savepoint would go back to is kept here, and not in a temporary file that
    # costs seven writes a step: nobody needs it after a crash.
    connection.execute("PRAGMA temp_store=MEMORY")
    return connection


def connect_to_write(path: Path) -> sqlite3.Connection:
    """Open the file for writing.

    Pages that a thousand payments change at once are not written twice, and
    the WAL is checkpointed a quarter as often as usual.
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
