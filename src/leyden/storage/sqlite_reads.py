"""Reading SQLite without asking twice: rows are remembered until somebody commits.

Most requests ask what the last one asked: whose key this is, which nodes there are. A
point read costs 9 µs; a commit by anyone, another process too, changes the file's
`data_version`, which costs 3 µs to read, once for all the requests that arrived
together. So an answer is never older than its request, and with a commit between any
two reads it costs little more than not remembering.

What is read together is of one moment: from a look to the next it is one transaction.
Else a commit in between would leave what is remembered beside what is newly read.
"""

import asyncio
import sqlite3

from leyden.storage.sqlite_statements import Statements, translated
from leyden.storage.statements import Row, Statement, Value

# Points and short lists: what is asked for again and again.
_MOST_ROWS = 64
_MOST_READS = 4_096


class Reads(Statements):
    """Runs reading statements on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._known: dict[tuple[object, ...], list[Row]] = {}
        self._version = -1
        self._edition = 0
        self._looked = False
        self._ending: asyncio.Handle | None = None

    def edition(self) -> int:
        """Give a number that changes with every commit, by whomever."""
        if not self._looked:
            self._look()
        return self._edition

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Give the rows as of now, from memory if nothing was committed since."""
        if not self._looked:
            self._look()
        read = (statement, *values.items())
        if (rows := self._known.get(read)) is None:
            rows = await super().__call__(statement, **values)
            if len(rows) <= _MOST_ROWS:
                if len(self._known) >= _MOST_READS:
                    self._known.clear()
                self._known[read] = rows
        return rows

    def forget(self) -> None:
        """Ask again from now on: something was committed."""
        self._known.clear()
        self._end()

    def close(self) -> None:
        """Let go of the file."""
        if self._ending is not None:
            self._ending.cancel()
        self._connection.close()

    def _look(self) -> None:
        """Forget everything if somebody has committed since the last look.

        The look is good for what runs before the loop listens again: any request that
        runs until then had arrived before the look.
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
            self._known.clear()
        self._looked = True
        self._ending = asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        """Look again before the next read."""
        self._looked = False
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
