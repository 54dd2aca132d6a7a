"""Statements of the program, in the words of both databases, run by the drivers.

SQLAlchemy's own execution costs some 50 µs a statement and, for SQLite, a hop to a
thread; a point read through the bare driver costs 8 µs. What we keep of SQLAlchemy
is what it is best at: one way to write SQL for two databases. It does so once, for
every installation: `sql/` is written with it, and `written/` is what came of it, so
that a program that serves need not wait for SQLAlchemy at its start.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]
Value = int | str | bytes | None


class Statement:
    """One statement; known by identity, since each is a constant of the program."""

    __slots__ = ("constants", "postgresql", "sqlite", "types")

    def __init__(
        self,
        *,
        sqlite: str,
        postgresql: str,
        constants: Mapping[str, Value] | None = None,
        types: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the SQL, the values it always has, and PostgreSQL's types of others."""
        self.sqlite = sqlite
        self.postgresql = postgresql
        self.constants = constants or {}
        self.types = types or {}

    def given(self, values: Mapping[str, Value]) -> Mapping[str, Value]:
        """Give the parameters to run it with, constants included."""
        return {**self.constants, **values} if self.constants else values


class Run(Protocol):
    """Run one statement with its parameters, and give all its rows."""

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Run it once."""
        ...

    async def many(
        self, statement: Statement, values: Sequence[Mapping[str, Value]]
    ) -> int:
        """Run it once for each set of parameters; give how many rows it touched."""
        ...

    def wake(self, kind: str) -> None:
        """Tell the workers, once this is committed, that such a task may be due."""
        ...


# Called with the kinds of tasks that may be due; None is any.
Wake = Callable[[Collection[str] | None], None]
