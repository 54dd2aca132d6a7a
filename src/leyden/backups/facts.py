"""Row counts and sums of a database, to compare a copy with its original.

It is read by its URL, without opening it as the platform does.

The tables are read from the database instead of this program's definitions, because a
copy may be older.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Select,
    func,
    inspect,
    literal_column,
    select,
    table,
    text,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.elements import ColumnElement

from leyden.base.database.engines import engine, unreachable
from leyden.values import Struct

_BESIDE = frozenset({"alembic_version", "backup_result"})
_ENTRIES = "entry"
_IN_FLIGHT = 10_000  # more than the transactions that are ever open at once


class Facts(Struct, frozen=True, kw_only=True):
    """The number of rows of each table, and the ledger's sums."""

    rows: dict[str, int]
    books: dict[str, int]  # satoshis, by kind of account
    last_entry: int = 0  # of the ledger


def of(connection: Connection) -> Facts:
    """Count the rows, and sum up the ledger, of a database."""
    names = sorted(set(inspect(connection).get_table_names()) - _BESIDE)
    rows = {name: _count(connection, name) for name in names}
    if _ENTRIES not in rows:
        return Facts(rows=rows, books={})
    last: Select[Any] = select(func.max(literal_column("id"))).select_from(
        table(_ENTRIES)
    )
    last_entry = connection.execute(last).scalar() or 0
    return Facts(
        rows=rows, books=books(connection, until=last_entry), last_entry=last_entry
    )


def books(
    connection: Connection, *, until: int, besides: Iterable[int] = ()
) -> dict[str, int]:
    """Sum up the ledger's entries up to a number, by kind of account."""
    sums: Counter[str] = Counter()
    for column, sign in (("source", -1), ("target", 1)):
        kind = _kind(connection, column).label("kind")
        sats_of: ColumnElement[int] = literal_column("sats", BigInteger)
        query = (
            select(kind, func.sum(sats_of))
            .select_from(table(_ENTRIES))
            .where(literal_column("id") <= until)
            .where(literal_column("id").not_in(list(besides)))
            .group_by(kind)
        )
        for name, sats in connection.execute(query):
            sums[name] += sign * int(sats)
    return {name: sats for name, sats in sorted(sums.items()) if sats}


def recent_entries(connection: Connection, *, until: int) -> set[int]:
    """Return the numbers of the ledger's last entries up to a number."""
    number: ColumnElement[int] = literal_column("id")
    query = select(number).select_from(table(_ENTRIES))
    within = query.where(number <= until).where(number > until - _IN_FLIGHT)
    return {int(each) for each in connection.execute(within).scalars()}


def schema(connection: Connection) -> str:
    """Return the version of the database's schema."""
    query: Select[Any] = select(literal_column("version_num")).select_from(
        table("alembic_version")
    )
    return str(connection.execute(query).scalar())


def _count(connection: Connection, name: str) -> int:
    query = select(func.count()).select_from(table(name))
    return int(connection.execute(query).scalar() or 0)


def _kind(connection: Connection, column: str) -> ColumnElement[str]:
    """Return the part of an account's name before the colon."""
    account: ColumnElement[str] = literal_column(column)
    if connection.dialect.name == "postgresql":
        return func.split_part(account, ":", 1)
    return func.substr(account, 1, func.instr(account.concat(":"), ":") - 1)


class Reading:
    """A read-only connection with one transaction."""

    def __init__(self, url: str) -> None:
        self._engine = engine(url)

    def __enter__(self) -> Connection:
        """Connect, with a snapshot of the database until the end."""
        try:
            self._connection = self._engine.connect()
            if self._engine.dialect.name == "postgresql":
                self._connection.execute(
                    text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                )
        except SQLAlchemyError as error:
            raise unreachable(error) from None
        return self._connection

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        self._connection.close()
        self._engine.dispose()


def describe(url: str) -> tuple[str, Facts]:
    """Return a database's schema version, row counts and sums."""
    with Reading(url) as connection:
        return schema(connection), of(connection)
