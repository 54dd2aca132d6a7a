"""Backups are checked and drilled: damage is found and named, nothing is started."""

import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from leyden.backups import backup_files, checking, copies, drilling, keys, running
from leyden.backups.backup_files import Programs
from leyden.backups.checking import Checked
from leyden.backups.copies import Copied
from leyden.backups.drilling import Drilled
from leyden.backups.rows.backup_results import BackupResult
from leyden.backups.store import recovery
from leyden.backups.store.store import Store, StoreAccess
from leyden.backups.wiring.backup_setup import set_up as set_up_backups
from leyden.base.platform import Platform
from leyden.errors import SetupError
from leyden.operators import key_rotation
from leyden.values import replace
from tests.backups.conftest import StoredHome
from tests.backups.s3 import Bucket, serving
from tests.disks import fill, small_disk

pytestmark = pytest.mark.real

# A command that is killed right before a file of this name is there.
KILLED_BEFORE = """
import os, signal, sys
from leyden.app.main import main
name = sys.argv.pop(1)
def kill(event, words):
    if event == "os.rename" and os.path.basename(words[1]) == name:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(kill)
main()
"""


async def drill(case: StoredHome, *, attended: bool = False) -> Drilled:
    key = recovery.read(case.key_file) if attended else None
    return await case.on(
        lambda platform: drilling.drill(platform, case.programs, key=key)
    )


async def check(case: StoredHome, *, attended: bool = False) -> Checked:
    key = recovery.read(case.key_file) if attended else None
    return await case.on(
        lambda platform: checking.check(platform, case.programs, key=key)
    )


async def results(case: StoredHome) -> dict[tuple[str, bool], BackupResult]:
    async def all_(platform: Platform) -> list[BackupResult]:
        return await platform.database.reader.backup_results.all_()

    return {(each.kind, each.ok): each for each in await case.on(all_)}


async def test_a_good_backup_is_proven_and_the_result_is_kept(case: StoredHome) -> None:
    checked = await check(case, attended=True)
    assert checked.problems == []
    assert checked.keys_opened
    for attended in (False, True):
        drilled = await drill(case, attended=attended)
        assert drilled.problems == []
        assert drilled.values_opened == 3  # a ticket, a seed, and the check of the keys
        assert drilled.rows == checked.rows > 10
    found = await results(case)
    kinds = ("run", "check", "drill", "attended")
    assert set(found) == {(kind, True) for kind in kinds}
    assert len({each.snapshot for each in found.values()}) == 1
    assert [path.name for path in backup_files.folder(case.given).glob("work-*")] == []


async def test_keys_that_were_rotated_twice_since_the_backup_are_found_in_a_drill(
    case: StoredHome,
) -> None:
    def rotate() -> None:
        key_rotation.rotate(
            case.given.database, case.given.secrets_path, pause=lambda _: None
        )

    rotate()
    assert (await drill(case)).problems == []
    rotate()
    found = await drill(case)
    assert "1 values of node_seed.sealed do not open with the keys" in found.problems
    (failed,) = [each for each in (await results(case)).values() if not each.ok]
    assert "node_seed.sealed" in failed.detail
    assert (await drill(case, attended=True)).problems == []


async def test_a_ledger_that_was_changed_since_the_backup_is_found_in_a_drill(
    case: StoredHome,
) -> None:
    path = case.home / "leyden.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TRIGGER entry_no_update")
        database.execute("UPDATE entry SET sats = sats + 1 WHERE id = 1")
    problems = (await drill(case)).problems
    assert len(problems) == 2
    assert all("the running ledger's" in each for each in problems)


async def test_keys_that_are_rotated_while_the_database_is_copied_are_those_of_the_copy(
    case: StoredHome,
) -> None:
    given = case.given
    copied: list[Copied] = []

    async def copy() -> Copied:
        path = case.folder / f"copy-{len(copied)}"
        path.mkdir()
        copied.append(await copies.copy(given.database, path, deadline_s=60))
        if len(copied) == 1:
            key_rotation.rotate(
                given.database, given.secrets_path, pause=lambda _: None
            )
        return copied[-1]

    _, bundle = await running.with_keys(given, copy)
    assert len(copied) == 2
    assert bundle.files[keys.SECRETS] == given.secrets_path.read_bytes()


async def test_backups_are_set_up_once_and_write_over_no_file(case: StoredHome) -> None:
    async def set_up(platform: Platform) -> None:
        await set_up_backups(platform, case.programs, case.key_file)

    key = case.key_file.read_bytes()
    with pytest.raises(SetupError, match="are already set up"):
        await case.on(set_up)
    shutil.rmtree(backup_files.folder(case.given))
    with pytest.raises(SetupError, match=r"recovery\.key already exists"):
        await case.on(set_up)
    case.key_file.rename(case.folder / "elsewhere")
    with pytest.raises(SetupError, match="already exists"):
        await case.on(set_up)
    assert not case.key_file.exists()
    assert not (backup_files.folder(case.given) / "password").exists()
    assert (case.folder / "elsewhere").read_bytes() == key


@pytest.mark.parametrize(
    "file",
    [
        pytest.param("recovery.key", marks=pytest.mark.long),
        "recipients",
        pytest.param("password", marks=pytest.mark.long),
    ],
)
async def test_a_setup_that_is_killed_is_completed_by_the_same_command(
    case: StoredHome, file: str
) -> None:
    shutil.rmtree(backup_files.folder(case.given))
    shutil.rmtree(case.files)
    case.key_file.unlink()
    words = ["backup", "init", "--recovery-key", str(case.key_file)]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE, file, *words],
        env={
            **os.environ,
            "LEYDEN_HOME": str(case.home),
            "LEYDEN_BACKUP_STORE": str(case.files),
        },
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    await case.on(
        lambda platform: set_up_backups(platform, case.programs, case.key_file)
    )
    await case.run()
    await case.restore()


async def test_a_database_that_is_damaged_is_not_stored(case: StoredHome) -> None:
    path = case.home / "leyden.db"
    content = bytearray(path.read_bytes())
    content[8_192:12_288] = bytes(4_096)
    path.write_bytes(content)
    before = [each.id for each in await case.store.snapshots()]
    with pytest.raises(SetupError, match="damaged"):
        await case.run()
    assert [each.id for each in await case.store.snapshots()] == before


KINDS = ("config", "data", "index", "keys", "snapshots")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_byte_that_flipped_anywhere_in_the_store_is_found(
    case: StoredHome, kind: str
) -> None:
    found = [path for path in (case.files / kind).rglob("*") if path.is_file()]
    path = max(found or [case.files / kind], key=lambda each: each.stat().st_size)
    case.damage(path)
    with pytest.raises(SetupError) as refused:
        await case.store.check()
    named = path.name[:8] if kind != "config" else "config"
    assert named in refused.value.message
    if kind == "data":
        with pytest.raises(SetupError):
            await case.restore()
        assert not (case.folder / "new").exists()


@pytest.mark.parametrize("kind", KINDS[1:])
async def test_an_object_that_is_missing_in_the_store_is_found(
    case: StoredHome, kind: str
) -> None:
    for path in (case.files / kind).rglob("*"):
        if path.is_file():
            path.unlink()
    with pytest.raises(SetupError) as refused:
        await check(case)
    expected = {
        "data": "data/",
        "index": "not found in repository",
        "keys": "the password does not open",
        "snapshots": "is missing: it was deleted",
    }
    assert expected[kind] in refused.value.message


async def test_a_store_that_is_full_says_so_and_the_last_backup_stays(
    case: StoredHome, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", mib=8) as disk:
        access = replace(case.store.access, location=str(disk / "store"))
        store = Store(restic=case.programs.restic, access=access)
        shutil.copytree(case.files, disk / "store")
        folder = case.folder / "content"
        folder.mkdir()
        (folder / "file").write_bytes(os.urandom(1 << 16))
        first = await store.add(folder, host="harbour", tags=[])
        ballast = fill(disk)
        (folder / "file").write_bytes(os.urandom(1 << 22))
        with pytest.raises(SetupError, match="no space left on device"):
            await store.add(folder, host="harbour", tags=[])
        ballast.unlink()
        await store.check()
        assert (await store.find()).id == first.id


async def test_a_store_that_hangs_is_given_up(programs: Programs) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        access = StoreAccess(
            location=f"s3:http://127.0.0.1:{silent.getsockname()[1]}/bucket/leyden",
            password="of the store",
            s3_key_id="id",
            s3_secret="secret of the store",
            deadline_s=0.5,
        )
        with pytest.raises(SetupError, match="gave up after") as refused:
            await Store(restic=programs.restic, access=access).check()
    assert "secret of the store" not in refused.value.message


async def test_no_secret_is_in_an_argument_or_in_the_environment(
    case: StoredHome, tmp_path: Path
) -> None:
    spy = tmp_path / "restic"
    path = tmp_path / "seen"
    spy.write_text(
        f"#!/bin/sh\ncat /proc/$$/cmdline /proc/$$/environ >>{path}\n"
        f'exec {case.programs.restic} "$@"\n'
    )
    spy.chmod(spy.stat().st_mode | stat.S_IXUSR)
    access = replace(case.store.access, s3_key_id="key id", s3_secret="key secret")
    await Store(restic=spy, access=access).snapshots()
    words = path.read_text()
    assert "snapshots" in words
    for secret in (access.password, "key secret", "key id"):
        assert secret not in words


@pytest.mark.parametrize("words", ["7 sometimes", "daily", "0 daily", "7daily"])
def test_which_backups_are_kept_is_said_in_words_that_are_known(words: str) -> None:
    with pytest.raises(SetupError, match="backup_keep"):
        list(running.retention(words))


def test_which_backups_are_kept() -> None:
    assert list(running.retention("48 hourly, 2 yearly")) == [
        *("--keep-hourly", "48", "--keep-yearly", "2"),
    ]
    assert list(running.retention("")) == []


async def test_a_store_may_be_in_a_bucket_and_takes_no_strangers(
    case: StoredHome, programs: Programs
) -> None:
    bucket = Bucket(key_id="harbour")
    async with serving(bucket) as address:
        access = replace(
            case.store.access, location=address, s3_key_id="harbour", s3_secret="lamp"
        )
        store = Store(restic=programs.restic, access=access)
        folder = case.folder / "content"
        folder.mkdir()
        (folder / "file").write_bytes(b"a light on the pier")
        bucket.objects |= {
            f"leyden/{path.relative_to(case.files)}": path.read_bytes()
            for path in case.files.rglob("*")
            if path.is_file()
        }
        await store.add(folder, host="harbour", tags=[])
        await store.check()
        await store.fetch(await store.find(), case.folder / "fetched")
        assert (case.folder / "fetched/file").read_bytes() == b"a light on the pier"
        assert not any(b"pier" in each for each in bucket.objects.values())
        assert bucket.refused == 0
        stranger = replace(access, s3_key_id="pier", deadline_s=0.5)
        with pytest.raises(SetupError, match="InvalidAccessKeyId"):
            await Store(restic=programs.restic, access=stranger).find()
        assert bucket.refused > 0
