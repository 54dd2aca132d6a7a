"""The schema check at every start, with the database driver alone.

SQLAlchemy and Alembic take longer to import than everything else that a
start needs, so they are imported only if the check fails.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from leyden.storage.statements import Row, SqlFile, Statement
from leyden.storage.urls import is_sqlite, sqlite_path

sql = SqlFile("schema")

_MIGRATIONS = Path(__file__).parent / "migrations" / "versions"


def check(url: str) -> None:
    """Raise if the database's schema is older or newer than this program's."""
    if _look(url, sql.version) != [(newest(),)]:
        from leyden.storage import schema  # noqa: PLC0415  it can say what is wrong

        schema.check(url)


def newest() -> str:
    """Return the newest version of the schema: its migration's file has that name."""
    return max(path.stem for path in _MIGRATIONS.glob("*.py"))


def sealed_check(url: str) -> bytes | None:
    """Return the value that was sealed to check keys with, if there is one."""
    rows = _look(url, sql.sealed_check)
    return rows[0][0] if rows else None


def _look(url: str, statement: Statement) -> list[Row] | None:
    """Run a reading statement without parameters; return None if it fails."""
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
            # Text of the program itself, which psycopg would have be a literal.
            return connection.execute(statement.postgresql.encode()).fetchall()
    except psycopg.Error:
        return None
