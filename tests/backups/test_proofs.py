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

from leyden.backups import checking, copies, drilling, keys, places, running
from leyden.backups.checking import Checked
from leyden.backups.copies import Copied
from leyden.backups.drilling import Drilled
from leyden.backups.places import Programs
from leyden.backups.rows.backup_results import BackupResult
from leyden.backups.store import recovery
from leyden.backups.store.store import Access, Store
from leyden.backups.wiring.backup_setup import set_up as set_up_backups
from leyden.base.platform import Platform
from leyden.errors import SetupError
from leyden.operators import key_rotation
from leyden.values import replace
from tests.backups.conftest import Kept
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


async def drill(kept: Kept, *, attended: bool = False) -> Drilled:
    key = recovery.read(kept.key_file) if attended else None
    return await kept.on(
        lambda platform: drilling.drill(platform, kept.programs, key=key)
    )


async def check(kept: Kept, *, attended: bool = False) -> Checked:
    key = recovery.read(kept.key_file) if attended else None
    return await kept.on(
        lambda platform: checking.check(platform, kept.programs, key=key)
    )


async def results(kept: Kept) -> dict[tuple[str, bool], BackupResult]:
    async def all_(platform: Platform) -> list[BackupResult]:
        return await platform.database.reader.backup_results.all_()

    return {(each.kind, each.ok): each for each in await kept.on(all_)}


async def test_a_good_backup_is_proven_and_the_result_is_kept(kept: Kept) -> None:
    checked = await check(kept, attended=True)
    assert checked.problems == []
    assert checked.keys_opened
    for attended in (False, True):
        drilled = await drill(kept, attended=attended)
        assert drilled.problems == []
        assert drilled.values_opened == 3  # a ticket, a seed, and the check of the keys
        assert drilled.rows == checked.rows > 10
    found = await results(kept)
    kinds = ("run", "check", "drill", "attended")
    assert set(found) == {(kind, True) for kind in kinds}
    assert len({each.snapshot for each in found.values()}) == 1
    assert [path.name for path in places.folder(kept.given).glob("work-*")] == []


async def test_keys_that_were_rotated_twice_since_the_backup_are_found_in_a_drill(
    kept: Kept,
) -> None:
    def rotate() -> None:
        key_rotation.rotate(
            kept.given.database, kept.given.secrets_path, pause=lambda _: None
        )

    rotate()
    assert (await drill(kept)).problems == []
    rotate()
    found = await drill(kept)
    assert "1 values of node_seed.sealed do not open with the keys" in found.problems
    (failed,) = [each for each in (await results(kept)).values() if not each.ok]
    assert "node_seed.sealed" in failed.detail
    assert (await drill(kept, attended=True)).problems == []


async def test_a_ledger_that_was_changed_since_the_backup_is_found_in_a_drill(
    kept: Kept,
) -> None:
    path = kept.home / "leyden.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TRIGGER entry_no_update")
        database.execute("UPDATE entry SET sats = sats + 1 WHERE id = 1")
    problems = (await drill(kept)).problems
    assert len(problems) == 2
    assert all("the running ledger's" in each for each in problems)


async def test_keys_that_are_rotated_while_the_database_is_copied_are_those_of_the_copy(
    kept: Kept,
) -> None:
    given = kept.given
    copied: list[Copied] = []

    async def copy() -> Copied:
        path = kept.folder / f"copy-{len(copied)}"
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


async def test_backups_are_set_up_once_and_write_over_no_file(kept: Kept) -> None:
    async def set_up(platform: Platform) -> None:
        await set_up_backups(platform, kept.programs, kept.key_file)

    key = kept.key_file.read_bytes()
    with pytest.raises(SetupError, match="are already set up"):
        await kept.on(set_up)
    shutil.rmtree(places.folder(kept.given))
    with pytest.raises(SetupError, match=r"recovery\.key already exists"):
        await kept.on(set_up)
    kept.key_file.rename(kept.folder / "elsewhere")
    with pytest.raises(SetupError, match="already exists"):
        await kept.on(set_up)
    assert not kept.key_file.exists()
    assert not (places.folder(kept.given) / "password").exists()
    assert (kept.folder / "elsewhere").read_bytes() == key


@pytest.mark.parametrize(
    "file",
    [
        pytest.param("recovery.key", marks=pytest.mark.long),
        "recipients",
        pytest.param("password", marks=pytest.mark.long),
    ],
)
async def test_a_setup_that_is_killed_is_completed_by_the_same_command(
    kept: Kept, file: str
) -> None:
    shutil.rmtree(places.folder(kept.given))
    shutil.rmtree(kept.files)
    kept.key_file.unlink()
    words = ["backup", "init", "--recovery-key", str(kept.key_file)]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE, file, *words],
        env={
            **os.environ,
            "LEYDEN_HOME": str(kept.home),
            "LEYDEN_BACKUP_STORE": str(kept.files),
        },
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    await kept.on(
        lambda platform: set_up_backups(platform, kept.programs, kept.key_file)
    )
    await kept.run()
    await kept.restore()


async def test_a_database_that_is_damaged_is_not_stored(kept: Kept) -> None:
    path = kept.home / "leyden.db"
    content = bytearray(path.read_bytes())
    content[8_192:12_288] = bytes(4_096)
    path.write_bytes(content)
    before = [each.id for each in await kept.store.snapshots()]
    with pytest.raises(SetupError, match="damaged"):
        await kept.run()
    assert [each.id for each in await kept.store.snapshots()] == before


KINDS = ("config", "data", "index", "keys", "snapshots")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_byte_that_flipped_anywhere_in_the_store_is_found(
    kept: Kept, kind: str
) -> None:
    found = [path for path in (kept.files / kind).rglob("*") if path.is_file()]
    path = max(found or [kept.files / kind], key=lambda each: each.stat().st_size)
    kept.damage(path)
    with pytest.raises(SetupError) as refused:
        await kept.store.check()
    named = path.name[:8] if kind != "config" else "config"
    assert named in refused.value.message
    if kind == "data":
        with pytest.raises(SetupError):
            await kept.restore()
        assert not (kept.folder / "new").exists()


@pytest.mark.parametrize("kind", KINDS[1:])
async def test_an_object_that_is_missing_in_the_store_is_found(
    kept: Kept, kind: str
) -> None:
    for path in (kept.files / kind).rglob("*"):
        if path.is_file():
            path.unlink()
    with pytest.raises(SetupError) as refused:
        await check(kept)
    told = {
        "data": "data/",
        "index": "not found in repository",
        "keys": "the password does not open",
        "snapshots": "is missing: it was deleted",
    }
    assert told[kind] in refused.value.message


async def test_a_store_that_is_full_says_so_and_the_last_backup_stays(
    kept: Kept, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", mib=8) as disk:
        access = replace(kept.store.access, place=str(disk / "store"))
        store = Store(restic=kept.programs.restic, access=access)
        shutil.copytree(kept.files, disk / "store")
        folder = kept.folder / "content"
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
        access = Access(
            place=f"s3:http://127.0.0.1:{silent.getsockname()[1]}/bucket/leyden",
            password="of the store",
            s3_key_id="id",
            s3_secret="secret of the store",
            deadline_s=0.5,
        )
        with pytest.raises(SetupError, match="gave up after") as refused:
            await Store(restic=programs.restic, access=access).check()
    assert "secret of the store" not in refused.value.message


async def test_no_secret_is_in_an_argument_or_in_the_environment(
    kept: Kept, tmp_path: Path
) -> None:
    spy = tmp_path / "restic"
    seen = tmp_path / "seen"
    spy.write_text(
        f"#!/bin/sh\ncat /proc/$$/cmdline /proc/$$/environ >>{seen}\n"
        f'exec {kept.programs.restic} "$@"\n'
    )
    spy.chmod(spy.stat().st_mode | stat.S_IXUSR)
    access = replace(kept.store.access, s3_key_id="key id", s3_secret="key secret")
    await Store(restic=spy, access=access).snapshots()
    words = seen.read_text()
    assert "snapshots" in words
    for secret in (access.password, "key secret", "key id"):
        assert secret not in words


@pytest.mark.parametrize("words", ["7 sometimes", "daily", "0 daily", "7daily"])
def test_which_backups_are_kept_is_said_in_words_that_are_known(words: str) -> None:
    with pytest.raises(SetupError, match="backup_keep"):
        list(running.kept(words))


def test_which_backups_are_kept() -> None:
    assert list(running.kept("48 hourly, 2 yearly")) == [
        *("--keep-hourly", "48", "--keep-yearly", "2"),
    ]
    assert list(running.kept("")) == []


async def test_a_store_may_be_in_a_bucket_and_takes_no_strangers(
    kept: Kept, programs: Programs
) -> None:
    bucket = Bucket(key_id="harbour")
    async with serving(bucket) as place:
        access = replace(
            kept.store.access, place=place, s3_key_id="harbour", s3_secret="lamp"
        )
        store = Store(restic=programs.restic, access=access)
        folder = kept.folder / "content"
        folder.mkdir()
        (folder / "file").write_bytes(b"a light on the pier")
        bucket.objects |= {
            f"leyden/{path.relative_to(kept.files)}": path.read_bytes()
            for path in kept.files.rglob("*")
            if path.is_file()
        }
        await store.add(folder, host="harbour", tags=[])
        await store.check()
        await store.fetch(await store.find(), kept.folder / "fetched")
        assert (kept.folder / "fetched/file").read_bytes() == b"a light on the pier"
        assert not any(b"pier" in each for each in bucket.objects.values())
        assert bucket.refused == 0
        stranger = replace(access, s3_key_id="pier", deadline_s=0.5)
        with pytest.raises(SetupError, match="InvalidAccessKeyId"):
            await Store(restic=programs.restic, access=stranger).find()
        assert bucket.refused > 0
