"""What happens after a backup leaves the machine within seconds, and comes back."""

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from leyden.app.migration import migrate
from leyden.backups import checking, drilling, results, running
from leyden.backups.changes import applying, state
from leyden.backups.changes.following import Follower
from leyden.backups.changes.state import Following
from leyden.backups.changes.supervision import ChangesProcess
from leyden.backups.changes.wal import Wal
from leyden.backups.store import recovery
from leyden.backups.store.changes import ChangeChain
from leyden.backups.store.objects import Folder, objects
from leyden.backups.store.s3 import S3
from leyden.backups.wiring import restoring
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso
from leyden.errors import SetupError
from leyden.operators import key_rotation
from leyden.values import replace
from tests.backups.conftest import StoredHome
from tests.backups.following import following, said, say, sent, with_a_base
from tests.backups.s3 import Bucket, serving
from tests.disks import fill, small_disk
from tests.waiting import until

pytestmark = pytest.mark.real


def changes(case: StoredHome) -> list[Path]:
    """List the objects with changes, oldest first."""
    found = (case.files / "changes").rglob("*")
    return sorted(path for path in found if path.is_file() and path.name.isdecimal())


async def followed(case: StoredHome, *words: str) -> None:
    """Make a backup, then commit these words and send them."""
    async with opened(case.given) as platform, with_a_base(case, platform) as progress:
        for word in words:
            await say(platform, word)
            await sent(platform, progress)


async def missed(case: StoredHome, word: str) -> None:
    """Commit a word that nobody sends; the last who closes empties the WAL."""
    async with opened(case.given) as platform:
        await say(platform, word)


async def restored(case: StoredHome, home: str = "new") -> list[str]:
    await case.restore(home)
    async with opened(case.settings(home)) as platform:
        return await said(platform)


async def test_what_was_committed_after_the_backup_comes_back(case: StoredHome) -> None:
    async with opened(case.given) as platform, with_a_base(case, platform) as progress:
        await say(platform, "one")
        await say(platform, "two")
        await sent(platform, progress)
        checked = await checking.check(platform, case.programs)
        assert checked.changes >= 1
        drilled = await drilling.drill(platform, case.programs)
        assert drilled.problems == []
        assert drilled.until > drilled.made
        await say(platform, "three")
        await sent(platform, progress)
        shutil.copytree(case.files, case.folder / "as it burned")
    shutil.rmtree(case.home)
    shutil.rmtree(case.files)
    (case.folder / "as it burned").rename(case.files)
    found = await case.restore("home")
    assert found.until > found.made
    async with opened(case.given) as platform:
        assert await said(platform) == ["one", "two", "three"]


async def test_a_backup_that_is_named_is_restored_as_it_was(case: StoredHome) -> None:
    await followed(case, "one")
    newest = await case.store.find()
    found = await case.restore(wanted=newest.id[:8])
    async with opened(case.settings("new")) as platform:
        assert await said(platform) == []
    assert found.until == to_iso(newest.made)


async def test_a_drill_with_the_recovery_key_opens_the_changes_with_it(
    case: StoredHome,
) -> None:
    await followed(case, "one")
    key = recovery.read(case.key_file)
    state.save_key(case.given, ChangeChain(b"x" * 32))  # this machine has none
    async with opened(case.given) as platform:
        drilled = await drilling.drill(platform, case.programs, key=key)
    assert drilled.problems == []
    assert drilled.until > drilled.made


async def test_a_process_that_is_killed_goes_on_where_it_was(case: StoredHome) -> None:
    async with opened(case.given) as platform:
        with contextlib.suppress(ZeroDivisionError):
            async with with_a_base(case, platform) as progress:
                await say(platform, "one")
                await sent(platform, progress)
                raise ZeroDivisionError  # nothing is sent or saved any more
        await say(platform, "while nobody followed")
        async with following(case) as again:
            await sent(platform, again)
            assert again[-1].chain == progress[-1].chain
    assert await restored(case) == ["one", "while nobody followed"]


async def test_what_was_on_its_way_at_a_kill_is_sent_again(case: StoredHome) -> None:
    async with opened(case.given) as platform:
        async with with_a_base(case, platform) as progress:
            await say(platform, "one")
            await sent(platform, progress)
        before = state.read(case.given)
        assert before is not None
        with contextlib.suppress(ZeroDivisionError):
            async with following(case) as progress:
                await say(platform, "two")
                await sent(platform, progress)
                raise ZeroDivisionError
        state.save(case.given, before, lasting=True)  # as if it was not written yet
        await say(platform, "three")
        async with following(case) as progress:
            await sent(platform, progress)
            assert progress[-1].chain == before.chain
    assert await restored(case) == ["one", "two", "three"]


async def test_where_pages_were_missed_a_new_chain_begins_with_a_new_backup(
    case: StoredHome,
) -> None:
    await followed(case, "one")
    await missed(case, "two")
    before = state.read(case.given)
    assert before is not None
    assert not state.needs_base(case.given)
    async with opened(case.given) as platform, following(case) as progress:
        await until(lambda: bool(progress) and progress[-1].chain != before.chain)
        assert state.needs_base(case.given)
        await say(platform, "three")
        await asyncio.sleep(0)
        assert progress[-1].until == before.until  # of what can be restored
        assert await restored(case) == ["one"]
        await running.run(platform, case.programs)
        await sent(platform, progress)
        assert not state.needs_base(case.given)
    assert await restored(case, "newer") == ["one", "two", "three"]


async def test_a_home_that_went_back_in_time_begins_a_new_chain(
    case: StoredHome,
) -> None:
    async with opened(case.given) as platform:
        async with with_a_base(case, platform) as progress:
            await say(platform, "one")
            await sent(platform, progress)
        old = state.read(case.given)
        assert old is not None
        with contextlib.suppress(ZeroDivisionError):
            async with following(case) as progress:
                for word in ("two", "three"):
                    await say(platform, word)
                    await sent(platform, progress)
                raise ZeroDivisionError  # the WAL stays, and in it the old place
        state.save(case.given, old, lasting=True)
        async with following(case) as progress:
            await until(lambda: bool(progress) and progress[-1].chain != old.chain)


async def test_after_a_rotation_of_the_keys_a_new_chain_begins(
    case: StoredHome,
) -> None:
    async with opened(case.given) as platform, with_a_base(case, platform) as progress:
        await say(platform, "one")
        await sent(platform, progress)
        first = progress[-1].chain
        key_rotation.rotate(
            case.given.database, case.given.secrets_path, pause=lambda _: None
        )
        await until(lambda: progress[-1].chain != first)
    # What the old chain has opens with the keys of its backup.
    assert await restored(case) == ["one"]


async def test_a_byte_that_flipped_in_the_changes_is_found_and_named(
    case: StoredHome,
) -> None:
    await followed(case, "one", "two", "three")
    for path in (changes(case)[-1], changes(case)[0]):
        case.damage(path)
        named = f"{path.parent.name}/{path.name} is damaged"
        async with opened(case.given) as platform:
            with pytest.raises(SetupError, match=named):
                await checking.check(platform, case.programs)
    with pytest.raises(SetupError, match=named):
        await case.restore()
    assert not (case.folder / "new").exists()


async def test_changes_that_are_missing_are_found_and_named(case: StoredHome) -> None:
    await followed(case, "one", "two", "three")
    *_, middle, last = changes(case)
    for path in (last, middle):
        content = path.read_bytes()
        path.unlink()
        async with opened(case.given) as platform:
            with pytest.raises(SetupError, match=f"{path.name} is missing"):
                await checking.check(platform, case.programs)
        if path == middle:
            last.write_bytes(content)
    with pytest.raises(SetupError, match=r"is missing|is damaged"):
        await case.restore()
    (middle.parent / "key.age").unlink()
    with pytest.raises(SetupError, match=r"key\.age is missing"):
        await case.restore()
    assert not (case.folder / "new").exists()


async def test_a_backup_that_was_made_after_its_chain_had_ended_has_none(
    case: StoredHome,
) -> None:
    async with opened(case.given) as platform:
        async with following(case) as progress:
            await until(lambda: bool(progress and progress[-1].chain))
        ended = state.read(case.given)
        assert ended is not None
        state.save(case.given, replace(ended, seen=0.0), lasting=True)
        making = asyncio.create_task(running.run(platform, case.programs))
        await asyncio.sleep(0.3)  # while it waits for somebody who follows
        state.save(case.given, replace(ended, chain="another"), lasting=True)
        await making
        assert state.base_of((await case.store.find()).tags) is None


async def test_changes_in_place_of_others_are_refused(case: StoredHome) -> None:
    await followed(case, "one", "two", "three")
    first, *_, last = changes(case)
    shutil.copy(first, last)
    with pytest.raises(SetupError, match=f"{last.name} is damaged"):
        await case.restore()
    (last.parent / "key.age").write_bytes(b"another")
    with pytest.raises(SetupError):
        await case.restore()


async def test_yesterdays_recovery_key_opens_no_changes(case: StoredHome) -> None:
    await followed(case, "one")
    other = await case.programs.age.new_identity()
    key = replace(recovery.read(case.key_file), identity=other.text)
    case.key_file.write_text(key.text())
    with pytest.raises(SetupError, match="does not open the keys"):
        await case.restore()
    assert not (case.folder / "new").exists()


async def test_a_full_store_slows_nobody_and_is_told(
    case: StoredHome, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", mib=16) as disk:
        shutil.copytree(case.files, disk / "store")
        shutil.rmtree(case.files)
        case.files.symlink_to(disk / "store")
        async with (
            opened(case.given) as platform,
            with_a_base(case, platform) as progress,
        ):
            ballast = fill(disk)
            await say(platform, "while it was full")
            await until(lambda: "No space left" in progress[-1].trouble)
            ballast.unlink()
            await sent(platform, progress)
            assert progress[-1].trouble == ""
        assert await restored(case) == ["while it was full"]


def moved(case: StoredHome, bucket: Bucket, address: str) -> StoredHome:
    """Move the store into a bucket."""
    for path in case.files.rglob("*"):
        if path.is_file():
            name = f"leyden/{path.relative_to(case.files)}"
            bucket.objects[name] = path.read_bytes()
    more = {
        "LEYDEN_BACKUP_STORE": address,
        "LEYDEN_BACKUP_S3_KEY_ID": "harbour",
        "LEYDEN_BACKUP_S3_SECRET": "light",
    }
    return StoredHome(folder=case.folder, programs=case.programs, more=more)


class Pruned(Bucket):
    """A bucket in which old changes are deleted as soon as a key was read back."""

    def __init__(self, key_id: str) -> None:
        super().__init__(key_id)
        self.pruned = 0
        self.kept: StoredHome | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        found = await super().answer(request)
        is_key = request.path.endswith("/key.age")
        if self.kept is not None and is_key and request.method == "GET":
            await applying.prune(self.kept.store, self.kept.given)
            self.pruned += 1
        return found


async def test_the_key_of_a_chain_that_begins_while_old_changes_are_deleted_stays(
    case: StoredHome,
) -> None:
    bucket = Pruned("harbour")
    async with serving(bucket) as address:
        bucket.kept = moved(case, bucket, address)
        async with following(bucket.kept) as progress:
            await until(lambda: bool(progress and progress[-1].chain))
        assert bucket.pruned
        key = f"leyden/changes/{progress[-1].chain}/key.age"
        assert key in bucket.objects


async def test_a_missing_key_of_a_chain_is_noticed(case: StoredHome) -> None:
    await followed(case, "one")
    (key,) = (case.files / "changes").rglob("key.age")
    key.unlink()
    async with opened(case.given) as platform:
        with pytest.raises(SetupError, match=r"key\.age is missing in the store"):
            await checking.check(platform, case.programs)
        with pytest.raises(SetupError, match=r"key\.age is missing in the store"):
            await drilling.drill(platform, case.programs)


async def test_a_chain_without_its_key_does_not_go_on(case: StoredHome) -> None:
    async with opened(case.given) as platform:
        async with with_a_base(case, platform) as progress:
            first = progress[-1].chain
        async with following(case) as progress:
            await until(lambda: bool(progress and progress[-1].seen))
            assert progress[-1].chain == first
        (key,) = (case.files / "changes").rglob("key.age")
        key.unlink()
        async with following(case) as progress:
            await until(lambda: bool(progress and progress[-1].seen))
            assert progress[-1].chain != first


class Hanging(Bucket):
    """A bucket that answers once it is told to."""

    def __init__(self, key_id: str) -> None:
        super().__init__(key_id)
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        await self.goes_on.wait()
        return await super().answer(request)


async def test_a_store_that_hangs_slows_nobody_and_gets_everything_later(
    case: StoredHome,
) -> None:
    bucket = Hanging("harbour")
    async with serving(bucket) as address:
        hung = moved(case, bucket, address)
        async with (
            opened(hung.given) as platform,
            with_a_base(hung, platform) as progress,
        ):
            bucket.goes_on.clear()
            for number in range(20):
                await say(platform, f"{number}")
            bucket.goes_on.set()
            await sent(platform, progress)
        key = replace(recovery.read(hung.key_file), store=address)
        await restoring.restore(hung.settings("new"), hung.programs, key)
        async with opened(hung.settings("new")) as platform:
            assert await said(platform) == [f"{number}" for number in range(20)]


async def test_what_is_too_much_for_a_slow_store_ends_the_chain(
    case: StoredHome,
) -> None:
    async with opened(case.given) as platform:
        followings: list[state.Following] = []
        follower = Follower(
            case.given,
            case.programs,
            on_progress=followings.append,
            every_s=0.01,
            max_waiting=0,
        )
        task = asyncio.create_task(follower.follow())
        await until(lambda: bool(followings and followings[-1].chain))
        first = followings[-1].chain
        await say(platform, "too much")
        await until(lambda: followings[-1].chain != first)
        follower.stop()
        await task


async def test_what_no_restore_needs_any_more_is_deleted(case: StoredHome) -> None:
    await followed(case, "one", "two")
    old = {path.parent.name for path in changes(case)}
    await missed(case, "a word")
    async with opened(case.given) as platform, with_a_base(case, platform) as progress:
        await say(platform, "three")
        await sent(platform, progress)
        assert not old & {path.parent.name for path in changes(case)}
        await say(platform, "four")
        await sent(platform, progress)
    assert await restored(case) == ["one", "two", "a word", "three", "four"]


async def test_the_process_is_started_again_and_its_lag_is_shown(
    case: StoredHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_BACKUP_STORE", str(case.files))

    def runs() -> list[int]:
        return [
            int(path.name)
            for path in Path("/proc").iterdir()
            if path.name.isdecimal() and _follows(path, case.home)
        ]

    async with opened(case.given) as platform:
        task = asyncio.create_task(ChangesProcess(platform).follow(None))  # type: ignore[arg-type]
        try:
            await until(lambda: state.needs_base(case.given))
            await running.run(platform, case.programs)
            await say(platform, "one")
            now = platform.clock().timestamp()
            await until(lambda: shown() > now)
            (first,) = runs()
            os.kill(first, signal.SIGKILL)
            await say(platform, "two")
            now = platform.clock().timestamp()
            await until(lambda: shown() > now)
            assert runs() != [first]
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await say(platform, "the last")
    assert runs() == []  # the last is sent, and nothing runs on
    chain = state.read(case.given)
    assert chain is not None
    migrate(case.given)
    async with opened(case.given) as platform, following(case) as progress:
        await say(platform, "after a start")
        await sent(platform, progress)
        assert progress[-1].chain == chain.chain
        assert not state.needs_base(case.given)
    assert await restored(case) == ["one", "two", "the last", "after a start"]


async def test_a_chain_goes_on_after_a_stop_only_if_nobody_wrote_since(
    case: StoredHome,
) -> None:
    async with opened(case.given) as platform:
        follower = Follower(case.given, case.programs, every_s=0.01)
        task = asyncio.create_task(follower.follow())
        await until(lambda: state.needs_base(case.given))
        await running.run(platform, case.programs)
        await say(platform, "one")
    follower.stop()
    await task
    before = state.read(case.given)
    assert before is not None
    assert before.settled
    await missed(case, "two")
    async with following(case) as progress:
        await until(lambda: bool(progress) and progress[-1].chain != before.chain)
    assert await restored(case) == ["one"]


def shown() -> float:
    """Return of when the state is that the store holds, as `/metrics` shows it."""
    lag = REGISTRY.get_sample_value("leyden_backup_changes_lag_seconds")
    return time.time() - lag if lag else 0.0


def _follows(process: Path, home: Path) -> bool:
    with contextlib.suppress(OSError):
        words = (process / "cmdline").read_bytes().split(b"\0")
        if words[-3:-1] == [b"backup", b"follow"]:
            return f"LEYDEN_HOME={home}".encode() in (process / "environ").read_bytes()
    return False


async def test_an_operator_is_told_of_changes_that_stay_on_the_machine(
    case: StoredHome,
) -> None:
    await followed(case, "one")
    async with opened(case.given) as platform:
        assert await _alarms_after(platform, after_s=60) == []
        (late,) = await _alarms_after(platform, after_s=190)
        assert late == "changes of the database are only on this machine for 3 min"


async def _alarms_after(platform: Platform, *, after_s: float) -> list[str]:
    at = datetime.fromtimestamp(_until_of(platform) + after_s, UTC)
    found = await results.alarms(platform, now=at)
    return [each for each in found.values() if "changes of the database" in each]


def _until_of(platform: Platform) -> float:
    found = state.read(platform.settings)
    return found.until if found else 0.0


def test_amazons_own_example_is_signed_as_they_do() -> None:
    bucket = S3(
        url="https://examplebucket.s3.amazonaws.com",
        prefix="",
        key_id="AKIAIOSFODNN7EXAMPLE",
        secret="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    )
    now = datetime(2013, 5, 24, tzinfo=UTC)
    found = bucket.signed("GET", f"{bucket.url}/", "max-keys=2&prefix=J", b"", now=now)[
        "Authorization"
    ]
    assert found.endswith(
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    )


async def test_a_store_of_another_kind_keeps_no_changes(case: StoredHome) -> None:
    with pytest.raises(SetupError, match="keeps no changes between backups"):
        objects(replace(case.store.access, location="sftp:host:/backups"))
    found = objects(replace(case.store.access, location="s3:s3.example.org/a/b/"))
    assert found == S3(
        url="https://s3.example.org/a", prefix="b/changes", key_id="", secret=""
    )


async def test_a_disk_that_fills_up_as_a_chain_begins_leaves_no_file_open(
    case: StoredHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_file, opened_already = os.replace, False

    def full(src: Any, dst: Any, **folders: int) -> None:
        if dst == "state.json" and opened_already:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace_file(src, dst, **folders)

    class Follows(Follower):
        def _open(self) -> Wal:
            nonlocal opened_already
            opened_already = True
            return super()._open()

    monkeypatch.setattr(os, "replace", full)
    followings: list[Following] = []
    follower = Follows(case.given, case.programs, on_progress=followings.append)
    following_it = asyncio.create_task(follower.follow())
    await until(lambda: bool(followings) and "No space" in followings[-1].trouble)
    files = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    assert not [each for each in files if "leyden.db" in each]
    follower.stop()
    await following_it


async def test_a_folder_that_is_not_mounted_is_not_filled(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await Folder(tmp_path / "not mounted" / "changes").put("a/1", b"")


async def test_check_with_the_recovery_key_opens_changes_when_the_home_has_no_key(
    case: StoredHome,
) -> None:
    """As a restore does, which then refuses what is damaged."""
    await followed(case, "one", "two")
    key = recovery.read(case.key_file)
    state.save_key(case.given, ChangeChain(b"x" * 32))
    async with opened(case.given) as platform:
        checked = await checking.check(platform, case.programs)
        assert (checked.changes, checked.changes_opened) == (0, False)
        checked = await checking.check(platform, case.programs, key=key)
        assert checked.changes_opened
        assert checked.changes >= 2
        case.damage(changes(case)[0])
        with pytest.raises(SetupError, match="is damaged"):
            await checking.check(platform, case.programs, key=key)
    with pytest.raises(SetupError, match="is damaged"):
        await case.restore()
