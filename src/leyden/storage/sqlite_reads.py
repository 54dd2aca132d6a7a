"""Cache the rows of SQLite reads until the next commit.

Most requests read the same rows as the previous one: the owner of a key, the
list of nodes. A point read costs 9 µs. A commit by any process changes the
file's `data_version`, which costs 3 µs to read, once for all requests that
arrive together. So cached rows are never older than the request, and even
with a commit between any two reads the cache costs little.

Reads between two checks of `data_version` share a transaction, so that they
see the same snapshot. Otherwise a commit in between would mix cached rows
with newer ones.
"""

import asyncio
import sqlite3

from leyden.storage.sqlite_statements import ReadingStatements, translated
from leyden.storage.statements import Row, Statement, Value


class Reads(ReadingStatements):
    """Runs queries on one connection, with a cache."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._version = -1
        self._edition = 0
        self._looked = False
        self._ending: asyncio.Handle | None = None

    async def edition(self) -> int:
        """Return a number that changes with every commit by any process."""
        if not self._looked:
            self._check_version()
        return self._edition

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Return the current rows, cached if nothing was committed since."""
        if not self._looked:
            self._check_version()
        return await super().__call__(statement, **values)

    def clear(self) -> None:
        """Clear the cache after a commit."""
        self._end()

    def close(self) -> None:
        """Close the file."""
        if self._ending is not None:
            self._ending.cancel()
        self._connection.close()

    def _check_version(self) -> None:
        """Clear the cache if anything was committed since the last check.

        A check holds until the event loop polls again: any request that runs
        until then arrived before the check.
        """
        try:
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN")
            ((version,),) = self._connection.execute("PRAGMA data_version")
        except sqlite3.Error as error:
            raise translated(error) from error
        if version != self._version:
            self._version = version
            self._edition += 1
        self._looked = True
        self._ending = asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        """Check again before the next read."""
        self._looked = False
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
