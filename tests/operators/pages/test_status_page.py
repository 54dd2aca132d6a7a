"""/status: for everybody, from alarms alone, in HTML and in JSON."""

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from leyden.app.front import dashboard, make_front
from leyden.base.pages.origins import Origins
from leyden.base.platform import Platform
from leyden.base.rules.alarms import PURSE, AlarmKind
from leyden.base.settings import Settings
from leyden.operators import alarm_watch, public_status
from leyden.operators.alarms import Alarm
from leyden.operators.pages.status_page import LABELS, WORDS, StatusPage
from leyden.operators.public_status import ALARMS, Health, ServicePart
from leyden.values import replace
from tests.away import AwayDatabase
from tests.conftest import NOW

SECRET = "order 0b7d3c52 of Harbour Light"  # what no stranger may read


@pytest.fixture
def platform(selling: Platform) -> Platform:
    return selling


async def checked(
    platform: Platform, found: Sequence[AlarmKind], *, minutes: int = 0
) -> None:
    """Let a worker have found these alarms, some minutes ago."""
    at = NOW - timedelta(minutes=minutes)
    async with platform.database.transaction() as tx:
        alarms = [Alarm(kind, SECRET, SECRET) for kind in found]
        await alarm_watch.log_changes(tx, alarms, now=at)
        await tx.alarms.keep_check(at)


async def ask(
    page: Any, *, accept: str = "", method: str = "GET"
) -> tuple[int, dict[str, str], str]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": "/status",
        "raw_path": b"/status",
        "query_string": b"",
        "scheme": "http",
        "client": ("192.0.2.7", 1),
        "headers": [(b"host", b"platform.example"), (b"accept", accept.encode())],
    }
    await page(scope, asyncio.Event().wait, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, sent[1]["body"].decode()


def page_of(platform: Platform, *, fresh_s: float = 0) -> StatusPage:
    return StatusPage(
        platform, origins=Origins(["http://platform.example"]), fresh_s=fresh_s
    )


async def parts(page: StatusPage) -> dict[str, str]:
    _, _, body = await ask(page, accept="application/json")
    return {each["part"]: each["status"] for each in json.loads(body)["parts"]}


async def test_all_is_up_once_a_worker_has_looked(platform: Platform) -> None:
    page = page_of(platform)
    assert set((await parts(page)).values()) == {"up", "unknown"}
    await checked(platform, [])
    assert set((await parts(page)).values()) == {"up"}
    assert "gateway" in await parts(page)
    status, headers, text = await ask(page)
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "Everything works." in text
    assert "No incidents." in text
    assert "<script" not in text
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize("kind", ALARMS)
async def test_each_alarm_is_an_incident_without_its_words(
    platform: Platform, kind: AlarmKind
) -> None:
    part, health = ALARMS[kind]
    await checked(platform, [kind, AlarmKind.ORDER_STUCK], minutes=1)
    page = page_of(platform)
    _, _, text = await ask(page)
    _, _, body = await ask(page, accept="application/json")
    shown = json.loads(body)
    assert shown["incidents"] == [
        {
            "part": part.value,
            "status": health.value,
            "began": "2026-03-01T11:59:00.000Z",
            "ended": None,
        }
    ]
    if part.value in await parts(page):
        assert (await parts(page))[part.value] == health.value
        assert shown["status"] == health.value
    assert LABELS[part] in text
    for said in (text, body):
        assert SECRET not in said
        assert "order" not in said.replace("border", "")


async def test_channels_are_limited_while_only_the_purse_is_away(
    platform: Platform,
) -> None:
    """Direct channels are sold on; each alarm is an incident of its own."""

    async def shown(at: datetime) -> str:
        then = replace(platform, clock=lambda: at)
        return (await parts(page_of(then)))["channels"]

    purse = Alarm(AlarmKind.SELLER_AWAY, SECRET, PURSE)
    seller = Alarm(AlarmKind.SELLER_AWAY, SECRET)
    for minutes, found in ((9, [purse]), (8, [purse, seller]), (7, [purse]), (6, [])):
        at = NOW - timedelta(minutes=minutes)
        async with platform.database.transaction() as tx:
            await alarm_watch.log_changes(tx, found, now=at)
            await tx.alarms.keep_check(at)
        assert await shown(at) == {1: "limited", 2: "down", 0: "up"}[len(found)]
    _, _, body = await ask(page_of(platform), accept="application/json")
    assert [
        (each["status"], each["began"][14:16], each["ended"][14:16])
        for each in json.loads(body)["incidents"]
    ] == [("down", "52", "53"), ("limited", "51", "54")]


async def test_an_incident_ends_and_is_shown_for_a_week(platform: Platform) -> None:
    away = AlarmKind.TREASURY_AWAY
    for minutes, found in ((9, []), (8, [away]), (5, []), (2, [away]), (0, [])):
        await checked(platform, found, minutes=60 * 24 * 6 + minutes)
    await checked(platform, [])
    _, _, body = await ask(page_of(platform), accept="application/json")
    shown = json.loads(body)
    assert shown["status"] == "up"
    assert [each["ended"] is not None for each in shown["incidents"]] == [True, True]
    later = replace(platform, clock=lambda: NOW + timedelta(days=2))
    _, _, body = await ask(page_of(later), accept="application/json")
    assert json.loads(body)["incidents"] == []


async def test_nobody_is_told_that_all_is_well_while_nobody_looks(
    platform: Platform,
) -> None:
    await checked(platform, [], minutes=10)
    found = await parts(page_of(platform))
    assert found.pop("api") == "up"
    assert set(found.values()) == {"unknown"}


async def test_without_a_database_the_api_is_down(platform: Platform) -> None:
    away = replace(platform, database=AwayDatabase())
    status, _, body = await ask(page_of(away), accept="application/json")
    assert (status, json.loads(body)["status"]) == (503, "down")


async def test_a_flood_reads_the_database_once(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, reads = public_status.read, 0

    async def counted(of: Platform) -> public_status.PublicStatus:
        nonlocal reads
        reads += 1
        await asyncio.sleep(0)
        return await read(of)

    monkeypatch.setattr(public_status, "read", counted)
    page = page_of(platform, fresh_s=60)
    await asyncio.gather(*(ask(page) for _ in range(200)))
    assert reads == 1


async def test_only_reading_is_allowed(platform: Platform) -> None:
    page = page_of(platform)
    status, headers, _ = await ask(page, method="POST")
    assert (status, headers["allow"]) == (405, "GET, HEAD")
    status, headers, body = await ask(page, method="HEAD")
    assert (status, body) == (200, "")
    assert int(headers["content-length"]) > 500


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
        ("application/json", "application/json"),
        ("application/json, text/html", "text/html; charset=utf-8"),
        ("*/*", "text/html; charset=utf-8"),
    ],
)
async def test_accept_decides(platform: Platform, accept: str, kind: str) -> None:
    _, headers, _ = await ask(page_of(platform), accept=accept)
    assert (headers["content-type"], headers["vary"]) == (kind, "accept")


async def test_it_is_there_only_where_an_operator_wants_it(platform: Platform) -> None:
    def front(settings: Settings) -> Any:
        given = replace(platform, settings=settings)
        site = dashboard(given, version="0", origins=["http://platform.example"])
        return make_front(given, site, far=None, challenges=None)

    assert (await ask(front(Settings())))[0] == 401
    assert (await ask(front(Settings(status_page=True))))[0] == 200


def test_every_part_has_a_label_and_every_state_a_word() -> None:
    assert set(LABELS) == set(ServicePart)
    assert set(WORDS) == set(Health)
