"""A disk that is full: writes are refused, nothing is torn, and room mends it."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.rules.accounts import Organization
from leyden.errors import Away
from tests.conftest import NOW
from tests.disks import fill, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", mib=4) as disk:
        yield disk


@pytest.fixture
async def database(disk: Path, sqlite_template: Path) -> AsyncIterator[Database]:
    file = disk / "leyden.db"
    shutil.copy(sqlite_template, file)
    database = await open_database(f"sqlite:///{file}")
    yield database
    await database.close()


async def test_writes_are_refused_and_room_mends_it(
    database: Database, disk: Path
) -> None:
    lines: list[str] = []
    refused = 0

    async def found(number: int) -> None:
        nonlocal refused
        name = f"harbour {number}"
        try:
            async with database.transaction() as tx:
                for part in range(10):
                    at = NOW + timedelta(seconds=part)
                    one = Organization(
                        id=f"{name}.{part}", name=f"{name}.{part}" * 40, created=at
                    )
                    await tx.accounts.add(one)
        except Away:
            refused += 1
        else:
            lines.append(name)

    await asyncio.gather(*map(found, range(5)))
    ballast = fill(disk)
    for begin in range(100, 400, 20):
        await asyncio.gather(*map(found, range(begin, begin + 20)))
    assert refused > 0
    assert len(await database.reader.accounts.list_()) == 10 * len(lines)

    ballast.unlink()
    await asyncio.gather(*map(found, range(1000, 1020)))
    assert lines[-20:] == [f"harbour {number}" for number in range(1000, 1020)]
    stored = {
        each.id.partition(".")[0] for each in await database.reader.accounts.list_()
    }
    assert stored == set(lines), "what was told is there, and nothing else"
