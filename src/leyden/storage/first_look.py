"""The first look at a database at every start, to see whether it fits this program.

It is taken with the driver alone. SQLAlchemy and Alembic take longer to import than
everything else that a start needs, and are asked only where something does not fit.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from leyden.storage.statements import Row, Statement
from leyden.storage.written import SCHEMA
from leyden.storage.written import schema as sql


def check(url: str) -> None:
    """Refuse a database whose schema is older or newer than this program's."""
    if look(url, sql.VERSION) != [(SCHEMA,)]:
        from leyden.storage import schema  # noqa: PLC0415  it can say what is wrong

        schema.check(url)


def look(url: str, statement: Statement) -> list[Row] | None:
    """Run what only reads and takes no parameters; None where it cannot be run."""
    if url.startswith("sqlite:///"):
        path = Path(url.removeprefix("sqlite:///")).absolute()
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as file:
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
