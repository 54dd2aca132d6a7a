"""Consistent copies of the database, while it is in use.

SQLite is copied page by page within one read transaction: writers continue, and pages
keep their positions, so that the store keeps unchanged ones only once. PostgreSQL is
dumped by pg_dump from a snapshot in which we also count rows.
"""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from leyden.backups import postgres
from leyden.backups.facts import Facts, describe
from leyden.base.database.urls import is_sqlite, sqlite_path
from leyden.errors import SetupError
from leyden.values import Struct

SQLITE: Final = "database.sqlite"
POSTGRES: Final = "database.pgdump"


class Copied(Struct, frozen=True, kw_only=True):
    """A copy of the database, with its row counts and sums."""

    name: str
    schema: str
    facts: Facts


async def copy(url: str, folder: Path, *, deadline_s: float) -> Copied:
    """Copy the database into a folder."""
    if is_sqlite(url):
        path = sqlite_path(url)
        await asyncio.to_thread(_copy_sqlite, path, folder / SQLITE)
        return await asyncio.to_thread(_described, folder / SQLITE)
    target = folder / POSTGRES
    schema, found = await postgres.dump(url, target, deadline_s=deadline_s)
    return Copied(name=target.name, schema=schema, facts=found)


def damage(path: Path) -> str:
    """Return what is damaged in a SQLite file; "" if nothing."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as file:
            (found,) = file.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error as error:
        return str(error)
    return "" if found == "ok" else str(found)


def _copy_sqlite(path: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    try:
        with (
            closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as source,
            closing(sqlite3.connect(target)) as copied,
        ):
            source.backup(copied)
            copied.execute("PRAGMA journal_mode=DELETE")  # one file, complete
    except sqlite3.Error as error:
        raise SetupError(f"{path}: cannot be copied: {error}") from None
    if wrong := damage(target):
        raise SetupError(
            f"{path}: its copy is damaged, and so may be the database: {wrong}. "
            "Nothing was stored; restore an older backup"
        )


def _described(path: Path) -> Copied:
    version, found = describe(f"sqlite:///{path}")
    return Copied(name=path.name, schema=version, facts=found)
