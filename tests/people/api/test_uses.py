"""A key's last use is written down, to the minute, without a write for each request."""

from datetime import datetime, timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.platform import Platform
from leyden.people.api.key_usage import Uses
from tests.base.api.conftest import Caller
from tests.conftest import NOW
from tests.waiting import until


async def last_used(database: Database, organization_id: str) -> datetime | None:
    (key,) = await database.reader.keys.list_(organization_id)
    return key.last_used


async def test_a_request_is_seen_in_the_list_of_keys(
    alice: Caller, platform: Platform
) -> None:
    assert await last_used(platform.database, alice.organization_id) is None
    await alice.get("/key")

    async def is_seen() -> bool:
        return await last_used(platform.database, alice.organization_id) == NOW

    await until(is_seen)


@pytest.fixture
async def key_id(alice: Caller, platform: Platform) -> str:
    (key,) = await platform.database.reader.keys.list_(alice.organization_id)
    return key.id


async def test_it_is_written_once_a_minute_however_often_it_is_used(
    alice: Caller, platform: Platform, key_id: str
) -> None:
    database = platform.database
    uses = Uses(database, soon_s=0)
    for second in range(0, 125, 5):
        uses.note(key_id, now=NOW + timedelta(seconds=second), at_s=second)

        async def is_written(minute: int = second // 60) -> bool:
            at = NOW + timedelta(minutes=minute)
            return await last_used(database, alice.organization_id) == at

        await until(is_written)


async def test_a_server_that_is_behind_undoes_nothing(
    alice: Caller, platform: Platform, key_id: str
) -> None:
    for at in (NOW, NOW - timedelta(seconds=1)):
        async with platform.database.transaction() as tx:
            await tx.keys.used({key_id: at, "no such key": at})
    assert await last_used(platform.database, alice.organization_id) == NOW
