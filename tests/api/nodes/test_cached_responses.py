"""A cached response is true now: nothing was committed, and the key lives."""

import asyncio
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from leyden.api.app import Api
from leyden.api.endpoints import OPERATIONS
from leyden.api.operations import ReadRequest
from leyden.domain.accounts import Principal, Scope
from leyden.services.nodes.records import Records
from leyden.services.people import api_keys
from leyden.services.platform import Platform
from leyden.settings import Settings
from leyden.storage.database import Database
from tests.api.conftest import Caller
from tests.services.fleet_harness import FleetHarness

NODES = "/organizations/{organization_id}/nodes"


class Elsewhere:
    """Another process that writes."""

    def __init__(self, path: Path) -> None:
        self._writing = sqlite3.connect(path, isolation_level=None)

    async def write(self, statement: str, value: str) -> None:
        """Commit it; what is asked afterwards arrives after that."""
        self._writing.execute(statement, [value])
        await asyncio.sleep(0)  # the loop listens


@pytest.fixture
def elsewhere(sqlite_url: str) -> Elsewhere:
    return Elsewhere(Path(sqlite_url.removeprefix("sqlite:///")))


async def another(
    alice: Caller, platform: Platform, *, scope: Scope, lives: timedelta | None = None
) -> tuple[Caller, Principal]:
    """Make one more key for Alice's team."""
    now = platform.clock()
    key, text = await api_keys.create(
        platform,
        alice.organization_id,
        name="pier",
        scopes=[scope],
        expires=now + lives if lives else None,
        actor="test",
    )
    until = key.expires
    principal = Principal(alice.organization_id, key.id, frozenset({scope}), until)
    return Caller(alice.api, text, alice.organization_id), principal


async def statuses(caller: Caller, *paths: str) -> set[int]:
    """Ask for each of them twice: the second time the response is cached."""
    return {(await caller.get(each)).status for each in paths * 2}


async def test_nothing_is_read_where_the_response_is_cached(
    alice: Caller, nodes: str, path: str, db: Database
) -> None:
    first = [(await alice.get(each)).body for each in (nodes, path)]
    statements: list[str] = []
    reading: sqlite3.Connection = db._reading  # type: ignore[attr-defined]
    reading.set_trace_callback(statements.append)
    assert [(await alice.get(each)).body for each in (nodes, path)] == first
    assert set(statements) <= {"BEGIN", "PRAGMA data_version", "COMMIT"}


async def test_a_revoked_key_opens_nothing_that_it_opened_before(
    alice: Caller, platform: Platform, nodes: str, path: str
) -> None:
    pier, principal = await another(alice, platform, scope=Scope.NODE)
    assert await statuses(pier, nodes, path) == {200}
    await api_keys.revoke(
        platform, alice.organization_id, principal.key_id, actor="test"
    )
    assert await statuses(pier, nodes, path) == {401}
    assert await statuses(alice, nodes, path) == {200}


async def test_nor_does_one_that_another_process_revoked(
    alice: Caller,
    platform: Platform,
    nodes: str,
    path: str,
    elsewhere: Elsewhere,
) -> None:
    pier, principal = await another(alice, platform, scope=Scope.NODE)
    assert await statuses(pier, nodes, path) == {200}
    await elsewhere.write(
        "UPDATE api_key SET revoked = 1 WHERE id = ?", principal.key_id
    )
    assert await statuses(pier, nodes, path) == {401}


async def test_a_key_ends_in_time_although_nothing_is_committed(
    alice: Caller,
    platform: Platform,
    nodes: str,
    path: str,
    fleet_harness: FleetHarness,
) -> None:
    lives = timedelta(minutes=1)
    pier, _ = await another(alice, platform, scope=Scope.NODE, lives=lives)
    assert await statuses(pier, nodes, path) == {200}
    fleet_harness.now += lives - timedelta(microseconds=1)
    assert await statuses(pier, nodes, path) == {200}
    fleet_harness.now += timedelta(microseconds=1)
    assert await statuses(pier, nodes, path) == {401}


async def test_what_another_process_changes_is_shown_to_the_next_who_asks(
    alice: Caller, nodes: str, path: str, elsewhere: Elsewhere
) -> None:
    for name in ("storm light", "harbour light", "pier light"):
        assert await statuses(alice, nodes, path) == {200}
        await elsewhere.write("UPDATE node SET name = ?, edition = edition + 1", name)
        (item,) = (await alice.get(nodes)).json()["nodes"]
        assert item["node_name"] == name
        assert (await alice.get(path)).json()["node_name"] == name


async def test_a_key_is_not_let_in_where_another_was(
    alice: Caller, nobody: Caller, platform: Platform, nodes: str, path: str
) -> None:
    flow, _ = await another(alice, platform, scope=Scope.FLOW)
    assert await statuses(alice, nodes, path) == {200}
    assert await statuses(flow, nodes, path) == {403}
    assert await statuses(nobody, nodes, path) == {401}


async def test_one_request_is_not_answered_like_another(
    alice: Caller, nodes: str, path: str
) -> None:
    whole = await alice.get(nodes)
    for _ in range(2):
        assert (await alice.get(f"{nodes}?limit=1")).status == 400
        head = await alice.call("HEAD", nodes)
        assert (head.status, head.body) == (200, b"")
        assert head.headers["content-length"] == str(len(whole.body))
        assert (await alice.call("PUT", nodes)).status == 405
        assert (await alice.call("OPTIONS", nodes)).status == 204
        assert (await alice.get(nodes)).body == whole.body
        assert (await alice.get(path)).body != whole.body


async def test_what_is_cached_is_made_of_rows_alone(
    alice: Caller,
    platform: Platform,
    nodes: str,
    path: str,
    fleet_harness: FleetHarness,
) -> None:
    """Another program, much later, which has cached nothing, answers the same."""
    cached = {each.path for each in OPERATIONS if each.cacheable}
    one = f"{NODES}/{{node_id}}"
    deleted = f"{NODES}/deleted"
    assert cached == {NODES, one, deleted}, (
        "what is asked below is not all that is cached"
    )
    asked = (nodes, path, f"{nodes}/deleted")
    before = [(await alice.get(each)).body for each in asked]
    fleet_harness.now += timedelta(days=400)
    other = Caller(Api(platform, OPERATIONS), alice.key, alice.organization_id)
    assert [(await other.get(each)).body for each in asked] == before


def test_who_answers_from_rows_alone_is_given_no_more() -> None:
    assert set(ReadRequest.__struct_fields__) == {"principal", "path", "records"}
    assert set(Records.__struct_fields__) == {"rows", "sealer", "rules"}


class TestWithFewRequestsAMinute:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(requests_per_minute=5, failures_per_minute=3)

    async def test_cached_ones_count(self, alice: Caller, nodes: str) -> None:
        said = [(await alice.get(nodes)).status for _ in range(6)]
        assert said == [200] * 5 + [429]

    async def test_an_address_that_guesses_hears_nothing_cached(
        self, alice: Caller, nobody: Caller, nodes: str
    ) -> None:
        assert (await alice.get(nodes)).status == 200
        assert [(await nobody.get(nodes)).status for _ in range(4)] == [401] * 3 + [429]
        # A good key from there is heard all the same, and gets the cached response.
        assert (await alice.get(nodes)).status == 200
