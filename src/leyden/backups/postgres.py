"""Dump and restore PostgreSQL with its own tools, pg_dump and pg_restore.

The password of database_url is never an argument: libpq reads it from an in-memory
file.
"""

import asyncio
import contextlib
import secrets
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from psycopg import conninfo, sql
from sqlalchemy import text

from leyden.backups import facts
from leyden.backups.facts import Facts, Reading
from leyden.backups.store.calls import Secret, call, secret
from leyden.errors import SetupError

_CONNECT_S: Final = 10
# Quoted names of tables, and routines; those of extensions stay.
_TABLES: Final = """
    SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()
"""
_ROUTINES: Final = """
    SELECT proc.oid::regprocedure::text
    FROM pg_proc proc
    JOIN pg_namespace space ON space.oid = proc.pronamespace
    WHERE space.nspname = current_schema()
        AND NOT EXISTS (
            SELECT 1 FROM pg_depend WHERE objid = proc.oid AND deptype = 'e'
        )
"""
# Databases of drills that were killed: a running one is connected to its own.
_ABANDONED: Final = """
    SELECT datname FROM pg_database
    WHERE datname ~ '^leyden_drill_[0-9a-f]{12}$'
        AND pg_has_role(datdba, 'USAGE')
        AND NOT EXISTS (
            SELECT 1 FROM pg_stat_activity
            WHERE datid = pg_database.oid
                AND backend_type IS DISTINCT FROM 'autovacuum worker'
        )
"""
_EXISTS: Final = "SELECT 1 FROM pg_database WHERE datname = %s"
_PRIVATE: Final = ("password", "sslpassword")


async def dump(url: str, target: Path, *, deadline_s: float) -> tuple[str, Facts]:
    """Dump the database; return schema and counts of the same snapshot."""
    program = _program("pg_dump")

    with Reading(url) as connection:
        snapshot = connection.execute(text("SELECT pg_export_snapshot()")).scalar()
        with _connecting(url) as (words, file, env):
            await call(
                [
                    *(program, "--format=custom", "--compress=0", "--no-owner"),
                    *("--no-privileges", f"--snapshot={snapshot}"),
                    *(f"--file={target}", f"--dbname={words}"),
                ],
                doing="database_url: pg_dump",
                deadline_s=deadline_s,
                secrets=file,
                env=env,
            )
        return facts.schema(connection), facts.of(connection)


async def restore(path: Path, url: str, *, deadline_s: float) -> None:
    """Restore a dump into an empty database, atomically."""
    program = _program("pg_restore")
    with _connecting(url) as (words, file, env):
        await call(
            [
                *(program, "--no-owner", "--no-privileges", "--exit-on-error"),
                *("--single-transaction", f"--dbname={words}", path),
            ],
            doing="pg_restore",
            deadline_s=deadline_s,
            secrets=file,
            env=env,
        )


def empty(url: str) -> None:
    """Drop what a failed restore has created in a database that was empty."""
    with _connected(url) as connection, connection.transaction():
        for (name,) in connection.execute(_TABLES).fetchall():
            connection.execute(
                sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(sql.SQL(name))
            )
        for (name,) in connection.execute(_ROUTINES).fetchall():
            connection.execute(sql.SQL("DROP ROUTINE {}").format(sql.SQL(name)))


def is_empty(url: str) -> bool:
    """Return whether there is no table and no function in a database yet."""
    with _connected(url) as connection:
        found = [connection.execute(each).fetchone() for each in (_TABLES, _ROUTINES)]
        return found == [None, None]


@contextlib.asynccontextmanager
async def scratch(url: str) -> AsyncIterator[str]:
    """Create another database on the same server for the block; yield its URL.

    Also drop those that killed drills have left. A connection throughout the block
    shows other drills, of other installations too, that this one is in use.
    """
    await asyncio.to_thread(_drop_abandoned, url)
    name, in_use = await asyncio.to_thread(_create, url)
    with contextlib.closing(in_use):
        try:
            yield _beside(url, name)
        finally:
            await asyncio.to_thread(_drop, url, name)


def _drop_abandoned(url: str) -> None:
    with _connected(url) as connection:
        for (name,) in connection.execute(_ABANDONED).fetchall():
            # Without FORCE this fails while anybody is connected.
            with contextlib.suppress(psycopg.Error):
                connection.execute(
                    sql.SQL("DROP DATABASE {}").format(sql.Identifier(name))
                )


def _create(url: str) -> tuple[str, "psycopg.Connection[Any]"]:
    """Create a database, and connect to it; return its name and the connection."""
    with _connected(url) as connection:
        while True:
            name = f"leyden_drill_{secrets.token_hex(6)}"
            try:
                connection.execute(
                    sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(
                        sql.Identifier(name)
                    )
                )
            except psycopg.errors.InsufficientPrivilege:
                raise SetupError(
                    "database_url: a drill needs a database of its own, and the user "
                    "of this one may not create it; allow it with ALTER ROLE ... "
                    "CREATEDB"
                ) from None
            try:
                return name, _connected(_beside(url, name))
            except SetupError:
                # Another drill may have dropped it before we were connected.
                if connection.execute(_EXISTS, [name]).fetchone() is not None:
                    raise


def _drop(url: str, name: str) -> None:
    with _connected(url) as connection:
        connection.execute(
            sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        )


def _beside(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def _connected(url: str) -> "psycopg.Connection[Any]":
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=_CONNECT_S)
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0]
        raise SetupError(f"database_url: can't open the database: {reason}") from None


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise SetupError(
            f"database_url: {name} is not installed; install PostgreSQL's client, in "
            "the server's version or newer"
        )
    return found


@contextlib.contextmanager
def _connecting(url: str) -> Iterator[tuple[str, list[Secret], dict[str, str]]]:
    """Yield the connection's arguments without a password, and a file with it."""
    known = conninfo.conninfo_to_dict(url)
    password = known.pop("password", None)
    for name in _PRIVATE:
        known.pop(name, None)
    words = conninfo.make_conninfo("", **known)
    if not password:
        yield words, [], {}
        return
    escaped = str(password).replace("\\", "\\\\").replace(":", "\\:")
    with secret(f"*:*:*:*:{escaped}\n") as file:
        yield words, [file], {"PGPASSFILE": file.path}
