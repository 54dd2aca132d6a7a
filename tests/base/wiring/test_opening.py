"""All processes of a database go by its clock."""

from datetime import datetime, timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.opening import clock_of
from leyden.base.rules.times import utc_now
from tests.away import AwayDatabase

CLOSE = timedelta(seconds=10)
HOUR = timedelta(hours=1)


class _Ahead(AwayDatabase):
    async def now(self) -> datetime:
        return utc_now() + HOUR


async def test_the_clock_of_a_database_is_this_machines_where_both_agree(
    db: Database, logged: pytest.LogCaptureFixture
) -> None:
    clock = await clock_of(db)
    assert abs(clock() - utc_now()) < CLOSE
    assert logged.text == ""


async def test_the_clock_is_the_databases_where_the_machines_is_wrong(
    logged: pytest.LogCaptureFixture,
) -> None:
    clock = await clock_of(_Ahead())
    first = clock()
    assert abs(first - utc_now() - HOUR) < CLOSE
    assert clock() >= first
    assert logged.text.count("this machine's clock is not the database's") == 1
    assert "ahead_s=-3600" in logged.text
