"""Check the schema at every start, using only the database driver.

Importing SQLAlchemy and Alembic takes longer than everything else at a
start, so they are imported only if the check fails.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from leyden.base.database.statements import Row, SqlFile, Statement
from leyden.base.database.urls import is_sqlite, sqlite_path

sql = SqlFile(__file__)

_MIGRATIONS = Path(__file__).parent / "migrations" / "versions"


def check(url: str) -> None:
    """Raise if the database's schema is older or newer than this program's."""
    if _query(url, sql.version) != [(newest(),)]:
        from leyden.base.database import schema  # noqa: PLC0415  it explains what is wrong

        schema.check(url)


def newest() -> str:
    """Return the newest schema version: the name of the last migration's file."""
    return max(path.stem for path in _MIGRATIONS.glob("*.py"))


def sealed_check(url: str) -> bytes | None:
    """Return the sealed value that checks the keys, if there is one."""
    rows = _query(url, sql.sealed_check)
    return rows[0][0] if rows else None


def _query(url: str, statement: Statement) -> list[Row] | None:
    """Run a query without parameters; return None if it fails."""
    if is_sqlite(url):
        uri = f"{sqlite_path(url).as_uri()}?mode=rw"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as file:
                return file.execute(statement.sqlite).fetchall()
        except sqlite3.Error:
            return None
    import psycopg  # noqa: PLC0415  a driver only where it is used

    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=4) as connection:
            # The text is our own; psycopg's types accept only literals.
            return connection.execute(statement.postgresql.encode()).fetchall()
    except psycopg.Error:
        return None
