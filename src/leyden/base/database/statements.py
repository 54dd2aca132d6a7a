"""Named SQL statements, written once for both databases.

A file beside its module has the statements of one noun; psql and sqlite3 accept it:

    -- name: lock_many
    -- Always in the order of their ids, so that no two wait for each other.
    SELECT *
    FROM channel_order
    WHERE id IN (:ids)
    ORDER BY id
    /* FOR UPDATE */;

Differences between the databases are translated once, when the file is loaded:

| written                      | SQLite                         | PostgreSQL         |
| `:id`                        | `:id`                          | `%(id)s`           |
| `IN (:ids)`, a list          | `IN (... json_each(:ids))`     | `= ANY(%(ids)s)`   |
| `/* FOR UPDATE */`           | nothing: writers take turns    | `FOR UPDATE`       |
| `SELECT *`, `entry.*`        | the columns, by name           | the same           |

The columns are those that the file's INSERT names, in that order, or those given for a
table. A `*` sent to the server would be prepared with the columns that exist then, and
would fail once the migration of a newer program has added one.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

Row = tuple[Any, ...]
Value = int | str | bytes | tuple[str, ...] | None

BEFORE_ALL, AFTER_ALL = -(2**63), 2**63 - 1  # what a database's integers can be

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_INSERT = re.compile(r"INSERT INTO (\w+) \(([^)]*)\)")
_STAR = re.compile(r"(?<=SELECT )\*(?=\s+FROM (\w+))|\b(\w+)\.\*")
_TOKEN = re.compile(
    r"""
    (?P<literal>'(?:[^']|'')*'|::|%)
    | \bIN\ \(:(?P<list>\w+)\)
    | :(?P<parameter>\w+)
    | /\*\ (?P<lock>FOR\ UPDATE(?:\ SKIP\ LOCKED)?)\ \*/
    | /\*.*?\*/ | --[^\n]*
    """,
    re.VERBOSE | re.DOTALL,
)


class Statement:
    """A statement; compared by identity, as each is a constant."""

    __slots__ = ("lists", "name", "parameters", "postgresql", "sqlite")

    def __init__(self, text: str, *, name: str = "") -> None:
        """Translate the text."""
        found = [each.groupdict() for each in _TOKEN.finditer(text)]
        self.name = name
        self.lists = frozenset(each["list"] for each in found if each["list"])
        self.parameters = self.lists | {
            each["parameter"] for each in found if each["parameter"]
        }
        self.sqlite = _translated(text, _for_sqlite)
        self.postgresql = _translated(text, _for_postgresql)

    def for_sqlite(self, values: Mapping[str, Value]) -> Mapping[str, Value]:
        """Convert the values for SQLite: a list as JSON."""
        if not self.lists:
            return values
        return {**values, **{name: json.dumps(values[name]) for name in self.lists}}

    def for_postgresql(self, values: Mapping[str, Value]) -> Mapping[str, object]:
        """Convert the values for psycopg: a tuple as a list."""
        if not self.lists:
            return values
        return {**values, **{name: _listed(values[name]) for name in self.lists}}


class SqlFile:
    """The statements of one file, each an attribute under its name."""

    def __init__(self, module: str, **columns: Sequence[str]) -> None:
        """Load the .sql beside a module, as in `SqlFile(__file__)`.

        `columns` are those of tables without an INSERT.
        """
        self._path = Path(module).with_suffix(".sql")
        noun = self._path.stem
        _, *parts = _NAME.split(self._path.read_text())
        texts = dict(zip(parts[::2], parts[1::2], strict=True))
        columns |= dict(found for text in texts.values() for found in _inserted(text))
        self._statements = {
            name: Statement(_with_columns(text, columns), name=f"{noun}.{name}")
            for name, text in texts.items()
        }

    def __getattr__(self, name: str) -> Statement:
        """Return the statement of this name."""
        try:
            return self._statements[name]
        except KeyError:
            raise AttributeError(
                f"{self._path.name} has no `-- name: {name}`"
            ) from None

    def __iter__(self) -> Iterator[Statement]:
        return iter(self._statements.values())


def _translated(text: str, translate: Callable[[re.Match[str]], str]) -> str:
    return _TOKEN.sub(translate, text).strip().removesuffix(";").rstrip()


def _for_sqlite(found: re.Match[str]) -> str:
    if found["list"]:
        values = f"json_each(:{found['list']})"
        return f"IN (SELECT value FROM {values})"  # noqa: S608  our own text
    return found[0] if found["parameter"] or found["literal"] else ""


def _for_postgresql(found: re.Match[str]) -> str:
    if found["list"]:
        return f"= ANY(%({found['list']})s)"
    if found["parameter"]:
        return f"%({found['parameter']})s"
    return (found["literal"] or "").replace("%", "%%") or found["lock"] or ""


def _inserted(text: str) -> Iterator[tuple[str, list[str]]]:
    for table, columns in _INSERT.findall(text):
        yield table, [column.strip() for column in columns.split(",")]


def _with_columns(text: str, columns: Mapping[str, Sequence[str]]) -> str:
    def named(found: re.Match[str]) -> str:
        of_all = columns[found[1] or found[2]]
        return ", ".join(f"{found[2]}.{each}" if found[2] else each for each in of_all)

    return _STAR.sub(named, text)


def _listed(value: Value) -> list[str]:
    if not isinstance(value, tuple):
        raise TypeError("the value for IN (...) must be a tuple")
    return list(value)


class BatchStep(NamedTuple):
    """A statement of a batch, with its sets of parameters."""

    statement: Statement
    values: Sequence[Mapping[str, Value]]
    wakes: str = ""  # the kind of task to wake after the commit, if it returned a row


class Run(Protocol):
    """An object that runs statements, and returns all their rows."""

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        """Run the statement once."""
        ...

    async def many(
        self, statement: Statement, values: Sequence[Mapping[str, Value]]
    ) -> int:
        """Run the statement for each set of parameters; return rows affected."""
        ...

    async def batch(self, steps: Sequence[BatchStep]) -> None:
        """Run these steps in order, in one round trip; return no rows."""
        ...

    def wake(self, kind: str) -> None:
        """After the commit, wake all waiters for this kind of task or event."""
        ...


class OnlyReads:
    """The writing methods of `Run` for readers: they raise."""

    async def many(
        self,
        statement: Statement,  # noqa: ARG002  the protocol's
        values: Sequence[Mapping[str, Value]],  # noqa: ARG002  the protocol's
    ) -> int:
        """Raise an error: a reader must not write."""
        raise RuntimeError("the reader only reads")

    async def batch(self, steps: Sequence[BatchStep]) -> None:  # noqa: ARG002  as above
        """Raise an error: a reader must not write."""
        raise RuntimeError("the reader only reads")

    def wake(self, kind: str) -> None:  # noqa: ARG002  the protocol's
        """Raise an error: a reader must not queue tasks."""
        raise RuntimeError("the reader only reads")


# Called with the kinds of tasks that may be due; None means any.
Wake = Callable[[Collection[str] | None], None]
