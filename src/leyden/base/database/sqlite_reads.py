"""Read from SQLite: one snapshot for all requests that arrive together.

Reads until the event loop polls again share a transaction, so that what a request reads
is of one moment. It begins by reading the file's `data_version` (3 µs), which changes
with every commit by another connection, of this process or any other.
"""

import asyncio
import sqlite3

from leyden.base.database.sqlite_statements import ReadingStatements, translated
from leyden.base.database.statements import Row, Statement, Value


class Reads(ReadingStatements):
    """Runs queries on one connection, in shared transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._version = -1
        self._edition = 0
        self._begun = False
        self._ending: asyncio.Handle | None = None

    async def edition(self) -> int:
        """Return a number that changes with every commit by any process."""
        if not self._begun:
            self._begin()
        return self._edition

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Return the current rows."""
        if not self._begun:
            self._begin()
        return await super().__call__(statement, **values)

    def end(self) -> None:
        """End the transaction, after a commit: later reads must see that."""
        self._begun = False
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        if self._ending is not None:
            self._ending.cancel()
        self._connection.close()

    def _begin(self) -> None:
        """Begin a transaction, and count the edition up if anything was committed.

        It ends when the event loop polls again: any request that runs until then
        arrived before it began.
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
        self._begun = True
        self._ending = asyncio.get_running_loop().call_soon(self.end)
