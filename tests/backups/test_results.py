"""What backups came to, where operators look; and what is made by itself."""

import asyncio
import tomllib
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from leyden.app.loops import queues
from leyden.backups import keys, manifest, results, sealed_values
from leyden.backups.facts import Facts
from leyden.backups.keys import Bundle
from leyden.backups.rows.backup_results import BackupResult
from leyden.backups.scheduled import BACKUPS
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings, every_setting
from leyden.base.tasks.worker import Worker
from leyden.errors import SetupError
from tests.backups.conftest import NODE, StoredHome
from tests.channels.orders_harness import HARBOUR
from tests.nodes.rules.nodes import a_node

_SUCCESS = "leyden_backup_success_timestamp_seconds"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MINUTE = timedelta(minutes=1)


def result(kind: str, at: datetime, *, ok: bool = True, why: str = "") -> BackupResult:
    return BackupResult(kind=kind, ok=ok, at=at, took_ms=1_500, detail=why)


def platform_of(db: Database, sealer: Sealer, store: str = "/backups") -> Platform:
    given = Settings(backup_store=store)
    return Platform(settings=given, database=db, sealer=sealer, clock=utc_now)


async def keep(db: Database, *case: BackupResult) -> None:
    async with db.transaction() as tx:
        for each in case:
            await tx.backup_results.keep(each)


async def alarms(platform: Platform, now: datetime) -> list[str]:
    return list((await results.alarms(platform, now=now)).values())


async def test_an_operator_is_told_when_backups_or_drills_are_late_or_fail(
    db: Database, sealer: Sealer, now: datetime
) -> None:
    platform = platform_of(db, sealer)
    assert len(await alarms(platform, now)) == 2  # neither was ever made
    assert await alarms(platform_of(db, sealer, store=""), now) == []
    await keep(db, result("run", now), result("drill", now))
    assert await alarms(platform, now + 2 * HOUR) == []
    (late,) = await alarms(platform, now + 4 * HOUR)
    assert late == "the last successful backup was 4 h ago: run `leyden backup run`"
    await keep(db, result("run", now + DAY))
    assert await alarms(platform, now + DAY + HOUR) == []
    (late,) = await alarms(platform, now + DAY + 3 * HOUR)
    assert (
        late
        == "the last successful restore drill was 27 h ago: run `leyden backup drill`"
    )
    await keep(db, result("drill", now + DAY, ok=False, why="no such store"))
    failed = "the last restore drill failed: no such store"
    assert await alarms(platform, now + DAY) == [failed]
    await keep(db, result("drill", now + DAY + HOUR))
    assert await alarms(platform, now + DAY + HOUR) == []


async def test_an_operator_is_told_when_channel_backups_stay_on_the_machine(
    db: Database, sealer: Sealer, now: datetime
) -> None:
    platform = platform_of(db, sealer)
    await keep(db, result("run", now), result("drill", now))
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id=HARBOUR, name=HARBOUR, created=now))
        await tx.nodes.add(a_node())
        await tx.backups.add_channels(NODE, b"a channel", b"digest", now=now)
    assert await alarms(platform, now + MINUTE) == []
    (late,) = await alarms(platform, now + 3 * MINUTE)
    assert late == "the newest channel backup has been only on this machine for 3 min"
    # It began before.
    await keep(db, result("channels", now + timedelta(seconds=1)))
    assert await alarms(platform, now + 3 * MINUTE) == [late]
    await keep(db, result("channels", now + 4 * MINUTE))
    assert await alarms(platform, now + 5 * MINUTE) == []


async def test_the_age_of_each_result_can_be_monitored(
    db: Database, now: datetime
) -> None:
    await keep(db, result("run", now), result("drill", now - DAY))
    results.show(await db.reader.backup_results.all_())
    value = REGISTRY.get_sample_value
    assert value(_SUCCESS, {"kind": "run"}) == now.timestamp()
    assert value(_SUCCESS, {"kind": "drill"}) == (now - DAY).timestamp()
    assert value(_SUCCESS, {"kind": "check"}) == 0
    assert value("leyden_backup_failure_timestamp_seconds", {"kind": "run"}) == 0
    assert value("leyden_backup_duration_seconds", {"kind": "run"}) == 1.5


def test_what_failed_is_tried_again_later_and_not_at_once(now: datetime) -> None:
    def due(*case: BackupResult) -> bool:
        return results.is_due(case, "run", now=now, every=10 * HOUR)

    assert due()
    assert not due(result("run", now - 9 * HOUR))
    assert due(result("run", now - 10 * HOUR))
    failed = result("run", now - HOUR / 2, ok=False)
    assert not due(result("run", now - 20 * HOUR), failed)
    assert due(result("run", now - 20 * HOUR), result("run", now - HOUR, ok=False))


@pytest.mark.real
async def test_a_running_platform_makes_what_is_due_by_itself(
    case: StoredHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_BACKUP_STORE", str(case.files))

    async def work(platform: Platform) -> list[BackupResult]:
        reader = platform.database.reader.backup_results
        now = platform.clock()
        await keep(platform.database, result("drill", now), result("run", now - DAY))
        async with platform.database.transaction() as tx:
            await tx.tasks.put(BACKUPS, "all", due=now)
        (queue,) = [each for each in queues(platform) if each.kind == BACKUPS]
        worker = Worker(platform.database, [queue], clock=platform.clock)
        working = asyncio.create_task(worker.run())
        while not any(
            each.kind == "run" and each.at >= now for each in await reader.all_()
        ):
            await asyncio.sleep(0.05)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        return await reader.all_()

    assert [each.ok for each in await case.on(work)] == [True, True]
    assert len(await case.store.snapshots()) == 2


def test_a_drill_knows_what_each_sealed_value_is_for() -> None:
    columns = {f"{t.name}.{c.name}" for t, c in sealed_values.sealed_columns()}
    assert columns == set(sealed_values.PURPOSES)


def test_every_setting_that_names_a_file_is_backed_up_with_it() -> None:
    known = {name for name, _, _ in every_setting()}
    assert set(keys.NAMING_FILES) <= known
    endings = ("_certificate", "_macaroon", "_authorities", "_tls_key", "_ca")
    assert {name for name in known if name.endswith(endings)} <= {*keys.NAMING_FILES}


def test_what_differs_between_a_copy_and_its_manifest_is_named() -> None:
    facts = Facts(rows={"node": 3, "entry": 5}, books={"credit": 7})
    found = Facts(rows={"node": 2, "entry": 5, "extra": 1}, books={"credit": 8})
    assert list(manifest.compare(found, facts, what="the copy")) == [
        "the copy: table extra has 1 rows, but had 0",
        "the copy: table node has 2 rows, but had 3",
        "the copy: the ledger's credit is 8 sat, but was 7",
    ]


@pytest.mark.parametrize(
    "value", ["Léyden 😀", 'a "\\', "\x7f\t\x01\u2028", "", 7, True]
)
def test_a_setting_is_read_back_as_it_was_written(value: str | int) -> None:
    assert tomllib.loads(keys.line("smtp_from", value)) == {"smtp_from": value}


def test_a_kubeconfig_in_ones_own_folder_is_backed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "secrets.json").write_text("{}")
    (tmp_path / "config").write_text("of a cluster")
    found = keys.gather(Settings(home=str(tmp_path), kubeconfig="~/config"))
    assert found.files["files/kubeconfig"] == b"of a cluster"


@pytest.mark.parametrize("name", ["/etc/passwd", "home/../../x"])
def test_a_bundle_with_a_name_that_leads_out_of_it_is_refused(name: str) -> None:
    packed = keys.pack(Bundle({"secrets.json": b"", "settings.toml": b"", name: b""}))
    with pytest.raises(SetupError, match="contains an invalid name"):
        keys.unpack(packed)


def test_a_bundle_without_the_keys_is_refused() -> None:
    with pytest.raises(SetupError, match="lacks secrets"):
        keys.unpack(keys.pack(Bundle({"settings.toml": b""})))


@pytest.mark.parametrize(
    ("error", "case"),
    [
        (SetupError("no such store"), [(False, "no such store")]),
        (OSError("the disk is full"), [(False, "the disk is full")]),
        (asyncio.CancelledError(), []),
    ],
)
async def test_what_broke_off_or_failed_is_never_kept_as_good(
    sqlite_db: Database,
    sealer: Sealer,
    error: BaseException,
    case: list[tuple[bool, str]],
) -> None:
    platform = platform_of(sqlite_db, sealer)
    with pytest.raises(type(error)):
        async with results.recorded(platform, "run"):
            raise error
    found = await sqlite_db.reader.backup_results.all_()
    assert [(each.ok, each.detail) for each in found] == case
