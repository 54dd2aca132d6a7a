"""What is read is never older than what anybody has committed."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from leyden.base.database.database import Database
from tests.base.database.test_transactions import an_organization

RENAME = "UPDATE organization SET name = ?"


@pytest.fixture
def path(sqlite_url: str) -> Path:
    return Path(sqlite_url.removeprefix("sqlite:///"))


async def name_of(db: Database, organization_id: str) -> str:
    return (await db.reader.accounts.get(organization_id)).name


async def added(db: Database) -> str:
    organization = an_organization("Harbour Light")
    async with db.transaction() as tx:
        await tx.accounts.add(organization)
    return organization.id


async def test_our_own_commit_is_seen_at_once(sqlite_db: Database) -> None:
    with pytest.raises(Exception, match="not found"):
        await name_of(sqlite_db, an_organization("Lighthouse").id)
    of = await added(sqlite_db)
    assert await name_of(sqlite_db, of) == "Harbour Light"
    for number in range(20):
        key = an_organization(f"Light {number}")
        async with sqlite_db.transaction() as tx:
            await tx.accounts.add(key)
        assert await name_of(sqlite_db, key.id) == f"Light {number}"


async def test_what_another_process_commits_is_seen_by_the_next_request(
    sqlite_db: Database, path: Path
) -> None:
    of = await added(sqlite_db)
    for name in ("Lighthouse", "Harbour", "Lighthouse"):
        program = (
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
            "c.execute(sys.argv[2], [sys.argv[3]]); c.commit()"
        )
        subprocess.run([sys.executable, "-c", program, path, RENAME, name], check=True)
        await asyncio.sleep(0)  # a request arrives: the loop has listened
        assert await name_of(sqlite_db, of) == name


async def test_what_is_read_together_is_of_one_moment(
    sqlite_db: Database, path: Path
) -> None:
    """Else an answer could be of before and after a commit at once."""
    of = await added(sqlite_db)
    assert await name_of(sqlite_db, of) == "Harbour Light"
    with sqlite3.connect(path) as elsewhere:
        elsewhere.execute(RENAME, ["Lighthouse"])
    (organization,) = await sqlite_db.reader.accounts.list_()
    assert organization.name == await name_of(sqlite_db, of) == "Harbour Light"

    await asyncio.sleep(0)  # a request arrives: the loop has listened
    (organization,) = await sqlite_db.reader.accounts.list_()
    assert organization.name == await name_of(sqlite_db, of) == "Lighthouse"


async def test_a_transaction_that_is_rolled_back_is_never_seen(
    sqlite_db: Database,
) -> None:
    organization = an_organization("Lighthouse")
    with pytest.raises(ZeroDivisionError):
        async with sqlite_db.transaction() as tx:
            await tx.accounts.add(organization)
            1 / 0  # noqa: B018
    with pytest.raises(Exception, match="not found"):
        await name_of(sqlite_db, organization.id)
