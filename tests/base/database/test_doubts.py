"""Whether what was acknowledged can be lost, as the database itself tells."""

from pathlib import Path

import psycopg
import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.database.sqlite_connections import connect, durability_risks
from leyden.channels.books.verify import verify


async def test_as_it_is_opened_here_nothing_can_be(db: Database) -> None:
    assert await db.durability_risks() == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("PRAGMA synchronous=NORMAL", "SQLite's synchronous is 1"),
        ("PRAGMA synchronous=OFF", "SQLite's synchronous is 0"),
        ("PRAGMA journal_mode=DELETE", "SQLite's journal_mode is delete"),
    ],
)
def test_a_weaker_sqlite_is_told(tmp_path: Path, change: str, why: str) -> None:
    connection = connect(tmp_path / "leyden.db")
    assert durability_risks(connection) == []
    connection.execute(change)
    assert durability_risks(connection) == [why]
    connection.close()


async def test_a_weaker_postgresql_is_told(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = connection.info.dbname
        weaker = f'ALTER DATABASE "{name}" SET synchronous_commit = off'
        connection.execute(weaker.encode())
    database = await open_database(postgres_url)
    (broken,) = await verify(database)
    assert str(broken) == "I13: PostgreSQL's synchronous_commit is off"
    await database.close()
