"""Running statements on one connection to SQLite, in the program's own words."""

import sqlite3
from collections.abc import Mapping, Sequence

from leyden.errors import DatabaseAway, Violated
from leyden.storage.statements import Row, Statement, Value

# The primary result codes that pass by themselves, or once there is room again.
_AWAY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
}


class Statements:
    """Runs statements on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.woken: set[str] = set()

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Run it once, here on the event loop: a hop to a thread costs more."""
        try:
            return self._connection.execute(
                statement.sqlite, statement.given(values)
            ).fetchall()
        except sqlite3.Error as error:
            raise translated(error) from error

    async def many(
        self, statement: Statement, values: Sequence[Mapping[str, Value]]
    ) -> int:
        """Run it for each set of values; give how many rows it touched."""
        if not values:
            return 0
        rows = [statement.given(each) for each in values]
        try:
            return self._connection.executemany(statement.sqlite, rows).rowcount
        except sqlite3.Error as error:
            raise translated(error) from error

    def wake(self, kind: str) -> None:
        """Remember whom to wake after the commit."""
        self.woken.add(kind)


def translated(error: sqlite3.Error) -> Exception:
    """Give the error as ours: violated, away for now, or itself."""
    if isinstance(error, sqlite3.IntegrityError):
        return Violated(str(error))
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _AWAY:
        return DatabaseAway(retry_after_s=5)
    return error
