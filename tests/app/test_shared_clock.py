"""All processes of a database go by its clock."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from leyden.app.opening import opened
from leyden.app.shared_clock import SharedClock
from leyden.domain.times import utc_now
from leyden.settings import Settings
from leyden.storage.database import Database
from leyden.storage.secrets import Keyring, save_keyring
from tests.away import AwayDatabase

CLOSE = timedelta(seconds=10)
HOUR = timedelta(hours=1)


class _Ahead(AwayDatabase):
    async def now(self) -> datetime:
        return utc_now() + HOUR


async def test_a_database_tells_the_time(db: Database) -> None:
    assert abs(await db.now() - utc_now()) < CLOSE


async def test_it_is_the_databases_and_goes_on(
    logged: pytest.LogCaptureFixture,
) -> None:
    clock = SharedClock()
    assert abs(clock() - utc_now()) < CLOSE, "until it is told"
    for _ in range(2):
        await clock.set_by(_Ahead())
    first = clock()
    assert abs(first - utc_now() - HOUR) < CLOSE
    assert clock() > first
    assert logged.text.count("this machine's clock is not the database's") == 1
    assert "ahead_s=-3600" in logged.text


async def test_a_database_that_does_not_answer_changes_nothing() -> None:
    clock = SharedClock()
    await clock.set_by(_Ahead())
    with pytest.raises(Exception, match="database"):
        await clock.set_by(AwayDatabase())
    assert abs(clock() - utc_now() - HOUR) < CLOSE


async def test_whoever_opens_an_installation_goes_by_it(
    postgres_url: str, tmp_path: Path
) -> None:
    save_keyring(tmp_path / "secrets.json", Keyring.new())
    given = Settings(home=str(tmp_path), database_url=postgres_url)
    async with opened(given) as platform:
        assert isinstance(platform.clock, SharedClock)
