"""Health is asked every few seconds, so it costs the same however much there is."""

from leyden.app.endpoints import OPERATIONS
from leyden.app.serving.api import Api
from leyden.app.serving.public import Public
from leyden.base.database.database import Database
from leyden.base.database.statements import Row, Run, Statement, Value
from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.people import accounts
from leyden.values import replace
from tests.away import AwayDatabase
from tests.base.api.conftest import Caller


class _Counting:
    """Runs statements, and counts the rows they give."""

    def __init__(self, run: Run) -> None:
        self._run, self.rows = run, 0
        self.many, self.batch, self.wake = run.many, run.batch, run.wake

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        rows = await self._run(statement, **values)
        self.rows += len(rows)
        return rows


class _Looking(AwayDatabase):
    """Lets itself be looked at and no more."""

    def __init__(self, database: Database) -> None:
        self.counting = _Counting(database.reader.run)
        self.reader = Stores(self.counting)


def _caller(platform: Platform) -> Caller:
    public = Public(platform, Api(platform, OPERATIONS), version="0.1.0")
    return Caller(public, None, "")  # type: ignore[arg-type]


async def test_ready_reads_one_row_of_many(platform: Platform) -> None:
    for number in range(30):
        await accounts.create_organization(platform, f"team {number}", actor="test")
    looking = _Looking(platform.database)
    answer = await _caller(replace(platform, database=looking)).get("/health/ready")
    assert (answer.status, answer.json()) == (200, {"status": "ready"})
    assert looking.counting.rows == 1


async def test_while_the_database_is_away_it_lives_and_is_not_ready(
    platform: Platform,
) -> None:
    caller = _caller(replace(platform, database=AwayDatabase()))
    assert (await caller.get("/health/live")).status == 200
    answer = await caller.get("/health/ready")
    assert answer.status == 503
    assert "away" in answer.json()["message"]


async def test_an_address_gets_the_document_so_often(platform: Platform) -> None:
    caller, other = _caller(platform), _caller(platform)
    other.api, other.address = caller.api, "192.0.2.7"
    for _ in range(60):
        assert (await caller.get("/openapi.json")).status == 200
    refused = await caller.get("/openapi.json")
    assert refused.status == 429
    assert refused.headers["retry-after"] == "1"
    assert {"message", "code", "doc_url"} <= set(refused.json())
    assert (await other.get("/openapi.json")).status == 200
    assert (await caller.get("/health/live")).status == 200
