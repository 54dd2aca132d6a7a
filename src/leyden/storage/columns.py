"""A statement for many rows, as PostgreSQL runs it fastest: once, with columns.

Run row by row, each is a message there and back and a plan of its own, and the program
spends most of its time writing messages. Here the rows of one statement are a table
that is made of one array for each parameter:

    INSERT INTO t (a, b) VALUES (:a, :b)
    INSERT INTO t (a, b) SELECT given.a, given.b FROM unnest(:a, :b) AS given(a, b)

No two rows may touch the same row of the table: they are all one statement.
"""

import re
from collections.abc import Mapping, Sequence

from leyden.storage.statements import Statement, Value

_PARAMETER = re.compile(r"%\((\w+)\)s")
_NUMBER = "number of the row"


class Columns:
    """The statements of the program, each for any number of rows."""

    def __init__(self) -> None:
        self._known: dict[Statement, str] = {}

    def __call__(
        self, statement: Statement, rows: Sequence[Mapping[str, Value]]
    ) -> tuple[str, Mapping[str, object]]:
        """Give the SQL and its parameters: an array for each, and the constants."""
        if statement not in self._known:
            self._known[statement] = _of_columns(statement)
        columns: dict[str, object] = {
            name: [_plain(row[name]) for row in rows] for name in statement.types
        }
        return self._known[statement], {**statement.constants, **columns}


def _of_columns(statement: Statement) -> str:
    """Write the statement for the table of rows; their order is kept."""
    sql, names = statement.postgresql, list(statement.types)
    arrays = ", ".join(
        f"%({name})s::{type_}[]" for name, type_ in statement.types.items()
    )
    words = ", ".join(f'"{name}"' for name in (*names, _NUMBER))
    given = f"unnest({arrays}) WITH ORDINALITY AS given({words})"

    def column(found: re.Match[str]) -> str:
        name = found[1]
        return f'given."{name}"' if name in names else found[0]

    match sql.split(maxsplit=1)[0]:
        case "INSERT":
            head, _, rest = sql.partition(" VALUES (")
            # The numbers that new rows are given are of no interest to many at once.
            rest, _, _ = rest.partition(" RETURNING ")
            row, end, tail = rest.partition(") ON CONFLICT")
            row = row if end else row.removesuffix(")")
            order = f'ORDER BY given."{_NUMBER}"'
            row = _PARAMETER.sub(column, row)
            row = f"SELECT {row} FROM {given} {order}"  # noqa: S608  our own text
            return f"{head} {row} ON CONFLICT{tail}" if end else f"{head} {row}"
        case "UPDATE":
            head, _, where = sql.partition(" WHERE ")
            head, where = _PARAMETER.sub(column, head), _PARAMETER.sub(column, where)
            return f"{head} FROM {given} WHERE {where}"
        case "DELETE":
            head, _, where = sql.partition(" WHERE ")
            return f"{head} USING {given} WHERE {_PARAMETER.sub(column, where)}"
    raise ValueError("only what writes is run for many rows")


def _plain(value: Value) -> Value:
    """Write each word as a plain string: the driver minds arrays of several kinds."""
    return str(value) if isinstance(value, str) else value
