"""Statements are built with SQLAlchemy Core, compiled once, and run by the driver.

SQLAlchemy's own execution costs some 50 µs a statement and, for SQLite, a hop to a
thread; a point read through the bare driver costs 8 µs. What we keep of SQLAlchemy
is what it is best at: one way to write SQL for two databases.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import ClauseElement
from sqlalchemy.engine import Dialect

Row = tuple[Any, ...]
Value = int | str | bytes | None


class Run(Protocol):
    """Run one statement with its parameters, and give all its rows."""

    async def __call__(self, statement: ClauseElement, **values: Value) -> list[Row]:
        """Run it once."""
        ...

    async def many(
        self, statement: ClauseElement, values: Sequence[Mapping[str, Value]]
    ) -> int:
        """Run it once for each set of parameters; give how many rows it touched."""
        ...

    def wake(self, kind: str) -> None:
        """Tell the workers, once this is committed, that such a task may be due."""
        ...


class Compiled:
    """The statements of the program in the words of one database.

    A statement is a module-level constant, so it is looked up by identity and the
    table of them stays as small as the program.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._known: dict[ClauseElement, tuple[str, dict[str, Value]]] = {}

    def __call__(
        self, statement: ClauseElement, values: Mapping[str, Value]
    ) -> tuple[str, Mapping[str, Value]]:
        """Give the SQL and the parameters to run it with, constants included."""
        try:
            sql, constants = self._known[statement]
        except KeyError:
            compiled = statement.compile(dialect=self._dialect)
            sql = str(compiled)
            constants = {
                name: bind.value
                for name, bind in compiled.binds.items()  # type: ignore[attr-defined]
                if not bind.required
            }
            self._known[statement] = sql, constants
        return sql, {**constants, **values} if constants else values


# Called with the kinds of tasks that may be due; None is any.
Wake = Callable[[Collection[str] | None], None]
