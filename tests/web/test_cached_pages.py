"""A cached page is the page that would be shown now, to whoever looks."""

import asyncio
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from leyden.domain.accounts import Role
from leyden.services.people import sign_in
from leyden.services.platform import Platform
from leyden.settings import Settings
from leyden.storage.database import Database
from leyden.web.site import Site
from leyden.web.table import PAGES
from leyden.web.visits import ReadVisit
from tests.services.fleet_harness import FleetHarness
from tests.web.conftest import SESSION, person
from tests.web.visitor import Visitor


@pytest.fixture
async def nodes(alice: Visitor, fleet_harness: FleetHarness) -> str:
    await fleet_harness.create("harbour light", organization_id=alice.organization_id)
    await fleet_harness.work()
    return f"{alice.root}/nodes"


async def test_what_another_process_changes_is_shown_to_the_next_who_looks(
    alice: Visitor, nodes: str, sqlite_url: str
) -> None:
    elsewhere = sqlite3.connect(
        Path(sqlite_url.removeprefix("sqlite:///")), isolation_level=None
    )
    for name in ("storm light", "pier light"):
        shown = (await alice.get(nodes)).text
        assert (await alice.get(nodes)).text == shown
        assert name not in shown
        elsewhere.execute("UPDATE node SET name = ?, edition = edition + 1", [name])
        await asyncio.sleep(0)  # the loop listens
        assert name in (await alice.get(nodes)).text
    elsewhere.close()


async def test_it_is_put_together_once_for_each_who_looks(
    alice: Visitor, nodes: str, db: Database
) -> None:
    first = (await alice.get(nodes)).text
    statements: list[str] = []
    reading: sqlite3.Connection = db._reading  # type: ignore[attr-defined]
    reading.set_trace_callback(statements.append)
    assert (await alice.get(nodes)).text == first
    assert set(statements) <= {"BEGIN", "PRAGMA data_version", "COMMIT"}
    await alice.get(f"{nodes}?name=light")
    assert "FROM node" in "".join(statements)


async def test_everybody_sees_their_own(
    alice: Visitor, bob: Visitor, charlie: Visitor, nodes: str
) -> None:
    for _ in range(2):
        owns, looks = [(await each.get(nodes)).text for each in (alice, bob)]
        assert "alice@example.org" in owns
        assert "Create node" in owns
        assert "bob@example.org" in looks
        assert "Create node" not in looks
        assert (await charlie.get(nodes)).status == 404


async def test_who_was_signed_out_sees_it_no_more(
    alice: Visitor, nodes: str, platform: Platform, fleet_harness: FleetHarness
) -> None:
    assert (await alice.get(nodes)).status == 200
    fleet_harness.now += timedelta(seconds=platform.settings.session_idle_s)
    assert (await alice.get(nodes)).status == 303


async def test_a_session_in_use_goes_on_although_its_page_is_cached(
    alice: Visitor, nodes: str, platform: Platform, fleet_harness: FleetHarness
) -> None:
    for _ in range(3):
        fleet_harness.now += timedelta(seconds=platform.settings.session_idle_s - 1)
        for _ in range(2):
            assert (await alice.get(nodes)).status == 200


class TestWithFewRequestsAMinute:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(requests_per_minute=5)

    async def test_cached_ones_count(self, alice: Visitor, nodes: str) -> None:
        # The first of the five was at signing in.
        said = [(await alice.get(nodes)).status for _ in range(5)]
        assert said == [200] * 4 + [429]


async def test_who_lost_the_right_sees_it_no_more(
    alice: Visitor, nodes: str, site: Site, platform: Platform
) -> None:
    dan = await person(platform, site, "dan", alice.organization_id, Role.DEVELOPER)
    assert (await dan.get(nodes)).status == 200
    found = await sign_in.find(platform, dan.cookies[SESSION], now=platform.clock())
    assert found is not None
    async with platform.database.transaction() as tx:
        await tx.people.leave(alice.organization_id, found.person.id)
    assert (await dan.get(nodes)).status == 404


def test_a_page_that_is_cached_is_given_rows_and_who_looks_alone() -> None:
    assert [each.path for each in PAGES if each.cacheable] == [
        "/app/{organization_id}/nodes"
    ]
    assert set(ReadVisit.__struct_fields__) == {
        *("records", "templates", "path", "url", "query"),
        *("token", "somebody", "place"),
    }
