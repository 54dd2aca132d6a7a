"""A statement for many rows, as SQLite runs it fastest: once, with all of them.

Run row by row, each is a start of the statement of its own, with Python's lock let go
and taken again; whoever else wants that lock keeps it for 5 ms at a time. As one
statement a thread runs it while the event loop goes on:

    INSERT INTO t (a, b) VALUES (:a, :b)
    INSERT INTO t (a, b) VALUES (?, ?), (?, ?), ...

    UPDATE t SET a = :a WHERE b = :b
    UPDATE t SET a = given.column1 FROM (VALUES (?, ?), ...) AS given
    WHERE b = given.column2

    DELETE FROM t WHERE a = :a AND b = :b
    DELETE FROM t WHERE (a, b) IN (VALUES (?, ?), ...)

No two rows may touch the same row of the table: they are all one statement.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import itemgetter

from leyden.storage.statements import Statement, Value
from leyden.values import Struct

# So many rows a statement, the largest first: each size is one more text to prepare
# and to keep, and each statement one more wait for Python's lock. What is left over is
# run row by row.
_SIZES = (512, 64, 8)
_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")


class _Shape(Struct, frozen=True):
    """A statement without its rows."""

    head: str
    row: str
    tail: str
    of_row: Callable[[Mapping[str, Value]], tuple[Value, ...]]
    constants_of_row: Mapping[str, Value]
    before_rows: tuple[Value, ...]
    after_rows: tuple[Value, ...]

    def text(self, rows: int) -> str:
        return f"{self.head}{', '.join([self.row] * rows)}{self.tail}"


class Rows:
    """The statements of the program, each for any number of rows."""

    def __init__(self) -> None:
        self._shapes: dict[Statement, _Shape] = {}
        self._texts: dict[tuple[Statement, int], str] = {}

    def __call__(
        self, statement: Statement, rows: Sequence[Mapping[str, Value]]
    ) -> tuple[list[tuple[str, list[Value]]], Sequence[Mapping[str, Value]]]:
        """Give what to run, with its parameters, and the rows that are left over."""
        if (shape := self._shapes.get(statement)) is None:
            shape = self._shapes[statement] = _shape(statement)
        runs: list[tuple[str, list[Value]]] = []
        begun = 0
        for size in _SIZES:
            while len(rows) - begun >= size:
                some = rows[begun : begun + size]
                begun += size
                if shape.constants_of_row:
                    some = [{**shape.constants_of_row, **row} for row in some]
                values = chain.from_iterable(map(shape.of_row, some))
                given = [*shape.before_rows, *values, *shape.after_rows]
                runs.append((self._text(statement, size), given))
        return runs, rows[begun:]

    def _text(self, statement: Statement, size: int) -> str:
        if (text := self._texts.get((statement, size))) is None:
            text = self._shapes[statement].text(size)
            self._texts[statement, size] = text
        return text


def _shape(statement: Statement) -> _Shape:
    constants = statement.constants
    head, row, tail, names = _taken_apart(statement)
    return _Shape(
        head=_PARAMETER.sub("?", head),
        row=row,
        tail=_PARAMETER.sub("?", tail),
        of_row=_getter(names),
        constants_of_row={name: constants[name] for name in names if name in constants},
        before_rows=tuple(constants[name] for name in _PARAMETER.findall(head)),
        after_rows=tuple(constants[name] for name in _PARAMETER.findall(tail)),
    )


def _taken_apart(statement: Statement) -> tuple[str, str, str, list[str]]:
    """Give what comes before the rows, a row, what comes after, and a row's names."""
    sql, given = statement.sqlite, list(statement.types)
    match sql.split(maxsplit=1)[0]:
        case "INSERT":
            head, _, rest = sql.partition(" VALUES (")
            # The numbers that new rows are given are of no interest to many at once.
            rest, _, _ = rest.partition(" RETURNING ")
            row, end, tail = rest.partition(") ON CONFLICT")
            row = row if end else row.removesuffix(")")
            names = _PARAMETER.findall(row)
            row = _PARAMETER.sub("?", row)
            return (
                f"{head} VALUES ",
                f"({row})",
                f" ON CONFLICT{tail}" * bool(end),
                names,
            )
        case "UPDATE":
            change, _, where = sql.partition(" WHERE ")
            head = f"{_of_given(change, given)} FROM (VALUES "
            return (
                head,
                _places(given),
                f") AS given WHERE {_of_given(where, given)}",
                [*given],
            )
        case "DELETE":
            head, _, where = sql.partition(" WHERE ")
            equal = [each.split(" = :") for each in where.split(" AND ")]
            columns = ", ".join(column for column, _ in equal)
            names = [name for _, name in equal]
            return f"{head} WHERE ({columns}) IN (VALUES ", _places(names), ")", names
    raise ValueError("only what writes is run for many rows")


def _places(names: Sequence[str]) -> str:
    return f"({', '.join('?' * len(names))})"


def _of_given(sql: str, given: Sequence[str]) -> str:
    columns = {name: f"given.column{at}" for at, name in enumerate(given, 1)}
    return _PARAMETER.sub(lambda found: columns.get(found[1], found[0]), sql)


def _getter(
    names: Sequence[str],
) -> Callable[[Mapping[str, Value]], tuple[Value, ...]]:
    get = itemgetter(*names)
    return get if len(names) > 1 else lambda row: (get(row),)
