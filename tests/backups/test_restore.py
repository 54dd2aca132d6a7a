"""An installation is lost, and restored from its backup."""

import asyncio
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from leyden.app.installation import running
from leyden.app.migration import migrate
from leyden.backups import manifest
from leyden.backups import running as backup_runs
from leyden.backups.channel_copies import ChannelCopies
from leyden.backups.store import recovery
from leyden.backups.store.store import CHANNELS
from leyden.backups.wiring import restored
from leyden.backups.wiring.restore_target import alone
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.channels.books.verify import verify
from leyden.errors import SetupError, Unauthorized
from leyden.nodes.rows.backups import CHANNEL_BACKUPS_KEPT
from leyden.nodes.wiring import identity
from leyden.people import api_keys
from leyden.values import replace
from tests.backups.conftest import NODE, StoredHome
from tests.channels.orders_harness import HARBOUR, PRICE

pytestmark = pytest.mark.real
ITSELF = "from leyden.app.main import main; main()"


async def test_a_lost_home_is_restored_and_stays_stopped_until_somebody_says_so(
    case: StoredHome,
) -> None:
    async with opened(case.given) as platform:
        before = await platform.database.reader.ledger.sums()
    former = identity.read(case.home).identity
    secrets = (case.home / "secrets.json").read_bytes()
    root = (case.home / "authority/root.pem").read_bytes()
    shutil.rmtree(case.home)

    found = await case.restore("home")

    assert (case.home / "secrets.json").read_bytes() == secrets
    assert (case.home / "authority/root.pem").read_bytes() == root
    macaroon = case.home / "restored/treasury_macaroon"
    assert macaroon.read_bytes() == b"\x01macaroon"
    assert case.given.treasury_macaroon == str(macaroon)
    assert [
        path.name for path in case.folder.iterdir() if "restoring" in path.name
    ] == []
    for path in case.home.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path

    assert found.sessions_ended == 1
    assert len(found.review["orders under way"]) == 1
    assert found.review["credit and debts"] == [
        f"{HARBOUR}: credit {PRICE:,} sat, owed 0 sat"
    ]
    assert len(found.review["nodes"]) == 1
    with pytest.raises(SetupError, match="can't start until you confirm"):
        restored.refuse_unconfirmed(case.given)
    with pytest.raises(SetupError, match="--old-machine-is-destroyed"):
        migrate(case.given)
    with pytest.raises(SetupError, match="is missing"):
        identity.read(case.home)

    await restored.confirm(case.given, actor="test")

    restored.refuse_unconfirmed(case.given)
    assert identity.read(case.home).identity != former
    async with opened(case.given) as platform:
        assert await platform.database.reader.ledger.sums() == before
        assert await verify(platform.database) == []
        assert await platform.database.reader.sessions.list_("ada") == []
        home = await platform.database.reader.homes.find()
        assert home is not None
        assert home.identity == identity.read(case.home).identity
    with pytest.raises(SetupError, match="is not a restored home that waits"):
        await restored.confirm(case.given, actor="test")
    await case.run()


async def keys_in_force(platform: Platform) -> list[str]:
    found = await platform.database.reader.keys.list_(HARBOUR)
    return [each.name for each in found if each.revoked is None]


async def a_stolen_key_is_revoked(case: StoredHome) -> str:
    """Create two keys, back them up, and revoke one; return its text."""
    async with opened(case.given) as platform:
        for name in ("lantern", "stolen"):
            key, text = await api_keys.create(
                platform,
                HARBOUR,
                name=name,
                scopes=["node"],
                expires=None,
                actor="operator:test",
            )
        await backup_runs.run(platform, case.programs)
        await api_keys.revoke(platform, HARBOUR, key.id, actor="operator:test")
    return text


def typed(case: StoredHome, home: str, *options: str | Path) -> str:
    """Run `leyden backup restore`; return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", ITSELF, "backup", "restore", *options],
        env={**os.environ, "LEYDEN_HOME": str(case.folder / home)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


async def test_restore_says_that_a_revoked_key_works_again(case: StoredHome) -> None:
    stolen = await a_stolen_key_is_revoked(case)
    found = await case.restore()
    assert found.keys_revoked == 0
    assert "API keys revoked after" in typed(case, "another", "--key", case.key_file)
    in_force = found.review["api keys in force"]
    assert [each.partition(": ")[2].split()[0] for each in in_force] == [
        "lantern",
        "stolen",
    ]
    given = case.settings("new")
    # Who reads that can still revoke them all, before the home starts.
    shown = typed(case, "new", "--old-machine-is-destroyed", "--revoke-keys")
    assert "API keys revoked after" not in shown
    assert re.search(r"keys.revoked +2\n", shown)
    async with opened(given) as platform:
        assert await keys_in_force(platform) == []
        with pytest.raises(Unauthorized):
            await api_keys.authenticate(platform, stolen, now=platform.clock())


async def test_restore_revokes_all_keys_when_it_is_told_to(case: StoredHome) -> None:
    await a_stolen_key_is_revoked(case)
    found = await case.restore(revoke_keys_as="operator:restore")
    assert found.keys_revoked == 2
    assert found.review["api keys in force"] == []
    await restored.confirm(case.settings("new"), actor="operator:ada")
    async with opened(case.settings("new")) as platform:
        assert await keys_in_force(platform) == []
        reader = platform.database.reader
        logged = await reader.audit.latest(limit=20)
        who = [each.actor for each in logged if each.action == "key revoked"]
        assert who == ["operator:restore"] * 2


async def test_a_restore_replaces_nothing(case: StoredHome) -> None:
    with pytest.raises(SetupError, match="must be empty"):
        await case.restore("home")
    for name, variable in (("new.db", "DATABASE_URL"), ("keys", "SECRETS_FILE")):
        (case.folder / name).write_text("")
        value = (
            f"sqlite:///{case.folder}/{name}"
            if "db" in name
            else str(case.folder / name)
        )
        with pytest.raises(SetupError, match="exists"):
            await case.restore(**{f"LEYDEN_{variable}": value})
    assert not (case.folder / "new").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"schema": "9999_of_tomorrow"},
            "schema 9999_of_tomorrow, from Leyden",
        ),
        (
            {"installation": "0123456789abcdef"},
            "belongs to installation 0123456789abcdef",
        ),
        ({"format": 2}, "has format 2, which this version of Leyden does not know"),
        ({"files": {}}, "the backup has no database"),
        (
            {"facts": {"rows": {"node": 2}, "books": {}}},
            "the copy: table node has 1 rows, but had 2",
        ),
    ],
)
async def test_a_backup_of_another_version_or_installation_is_refused(
    case: StoredHome, change: dict[str, object], reason: str
) -> None:
    folder = case.folder / "changed"
    await case.store.fetch(await case.store.find(), folder)
    body = json.loads((folder / manifest.NAME).read_bytes())
    (folder / manifest.NAME).write_text(json.dumps({**body, **change}))
    await case.store.add(folder, host="elsewhere", tags=[])
    with pytest.raises(SetupError, match=reason):
        await case.restore()
    assert not (case.folder / "new").exists()
    assert not (case.folder / "new.restoring").exists()


async def test_a_file_that_was_replaced_in_the_store_is_refused(
    case: StoredHome,
) -> None:
    folder = case.folder / "changed"
    await case.store.fetch(await case.store.find(), folder)
    (folder / "keys.age").write_bytes(b"of somebody else")
    await case.store.add(folder, host="elsewhere", tags=[])
    with pytest.raises(SetupError, match=r"keys\.age: differs from what was backed up"):
        await case.restore()
    assert not (case.folder / "new").exists()


async def test_while_an_lnd_of_the_home_runs_it_may_not_start_another(
    case: StoredHome,
) -> None:
    await case.restore()
    root = case.folder / "new/nodes"
    lnd = subprocess.Popen(
        [sys.executable, "-c", "input(1)", f"--lnddir={root}/harbour/lnd"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert lnd.stdout
        lnd.stdout.read(1)  # until then its command line may still be empty
        with pytest.raises(SetupError, match="run on this machine"):
            await restored.confirm(case.settings("new"), actor="test")
    finally:
        lnd.communicate()
    with pytest.raises(SetupError, match="can't start until you confirm"):
        restored.refuse_unconfirmed(case.settings("new"))
    await restored.confirm(case.settings("new"), actor="test")


async def test_an_installation_that_waits_is_not_started(case: StoredHome) -> None:
    await case.restore()
    with pytest.raises(SetupError, match="can't start until you confirm"):
        async with running(case.settings("new")):
            raise AssertionError("it runs")


async def test_another_recovery_key_opens_nothing_and_leaves_nothing(
    case: StoredHome,
) -> None:
    key = recovery.read(case.key_file)
    other = await case.programs.age.new_identity()
    for wrong, reason in (
        (replace(key, identity=other.text), "does not open the keys in the backup"),
        (replace(key, password="another"), "the password does not open"),
    ):
        case.key_file.write_text(wrong.text())
        with pytest.raises(SetupError, match=reason):
            await case.restore()
        assert not (case.folder / "new").exists()


async def test_killed_at_any_moment_of_a_restore_nothing_is_half_restored(
    case: StoredHome,
) -> None:
    restoring_it = asyncio.create_task(case.restore())
    beside = case.folder / "new.restoring"
    while not beside.exists():
        await asyncio.sleep(0)
    restoring_it.cancel()
    await asyncio.gather(restoring_it, return_exceptions=True)
    assert not (case.folder / "new").exists()
    (beside / "left").mkdir(parents=True)  # as a kill -9 leaves it
    await case.restore()
    assert (case.folder / "new" / restored.FILE).exists()
    assert not beside.exists()


@pytest.mark.parametrize("step", ["fetched-*", "home/leyden.db"])
async def test_a_restore_that_is_killed_leaves_nothing_and_is_repeated(
    case: StoredHome, step: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ITSELF, "backup", "restore", "--key", case.key_file],
        env={**os.environ, "LEYDEN_HOME": str(case.folder / "new")},
        stdout=subprocess.DEVNULL,
    )
    beside = case.folder / "new.restoring"
    while not any(beside.glob(step)):
        assert process.poll() is None
        await asyncio.sleep(0)
    process.kill()
    process.wait()
    assert not (case.folder / "new").exists()
    await case.restore()
    assert (case.folder / "new" / restored.FILE).exists()
    assert not beside.exists()


def test_what_a_killed_restore_called_may_write_for_a_while(tmp_path: Path) -> None:
    beside = tmp_path / "new.restoring"
    (beside / "fetched-old").mkdir(parents=True)
    until = time.monotonic() + 0.5

    def goes_on() -> None:
        number = 0
        while time.monotonic() < until:
            number += 1
            with suppress(OSError):
                (beside / "fetched-old").mkdir(parents=True, exist_ok=True)
                (beside / "fetched-old" / str(number)).touch()

    with ThreadPoolExecutor() as threads:
        writing = threads.submit(goes_on)
        with alone(beside):
            pass
        writing.result()


async def test_of_two_restores_into_a_home_one_is_refused(case: StoredHome) -> None:
    first = asyncio.create_task(case.restore())
    while not (case.folder / "new.restoring").exists():
        await asyncio.sleep(0)
    with pytest.raises(SetupError, match="another restore into this home"):
        await case.restore()
    await first
    assert (case.folder / "new" / restored.FILE).exists()


async def test_a_disk_onto_which_half_of_a_home_was_moved_does_not_run(
    case: StoredHome,
) -> None:
    await case.restore()
    home = case.folder / "new"
    left = home / restored.BESIDE / restored.NEW
    left.mkdir(parents=True)
    (home / "authority").rename(left / "authority")  # as a kill -9 leaves it
    with pytest.raises(SetupError, match="delete everything on it"):
        await restored.confirm(case.settings("new"), actor="test")
    with pytest.raises(SetupError, match="delete everything on it"):
        await case.restore()
    with pytest.raises(SetupError, match="can't start until you confirm"):
        restored.refuse_unconfirmed(case.settings("new"))


def test_a_recovery_key_that_lacks_something_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("# store: /backups\n")
    with pytest.raises(SetupError, match="it lacks installation, password"):
        recovery.read(path)
    path.write_text("# store: a\n# password: b\n# installation: c\n")
    with pytest.raises(SetupError, match="lacks the identity"):
        recovery.read(path)
    with pytest.raises(SetupError, match="No such file"):
        recovery.read(tmp_path / "none")


async def store_channels(platform: Platform, content: bytes) -> None:
    digest = hashlib.sha256(content).digest()
    async with platform.database.transaction() as tx:
        await tx.backups.add_channels(NODE, content, digest, now=platform.clock())


async def test_a_channel_that_is_opened_after_the_backup_comes_back_with_it(
    case: StoredHome,
) -> None:
    async def open_two(platform: Platform) -> list[bool]:
        copies = ChannelCopies(platform)
        looked = [await copies.copy_new(case.programs)]
        for content in (b"one channel", b"two channels"):
            await store_channels(platform, content)
            looked.append(await copies.copy_new(case.programs))
        looked.append(await copies.copy_new(case.programs))
        return looked

    assert await case.on(open_two) == [False, True, True, False]
    await case.restore()
    async with opened(case.settings("new")) as platform:
        found = await platform.database.reader.backups.latest_channels(NODE)
    assert found.content == b"two channels"
    # A backup of the whole that is newer than they are has them already.
    await case.run()
    await case.restore("another")
    async with opened(case.settings("another")) as platform:
        ((newest, _),) = await platform.database.reader.backups.newest_channels(limit=1)
    assert newest == 2


async def test_a_channel_that_is_opened_while_a_backup_is_made_comes_back_with_it(
    case: StoredHome,
) -> None:
    async def open_one(platform: Platform) -> None:
        await store_channels(platform, b"one channel")
        await ChannelCopies(platform).copy_new(case.programs)
        async with platform.database.transaction() as tx:
            # As in a copy of the database that had begun before.
            await tx.backups.delete(NODE)

    await case.on(open_one)
    await case.run()
    await case.restore()
    async with opened(case.settings("new")) as platform:
        found = await platform.database.reader.backups.latest_channels(NODE)
    assert found.content == b"one channel"


async def test_an_older_channel_backup_does_not_come_before_a_newer_one(
    case: StoredHome,
) -> None:
    async def open_many(platform: Platform) -> None:
        copies = ChannelCopies(platform)
        for number in range(CHANNEL_BACKUPS_KEPT + 2):
            await store_channels(platform, b"%d channels" % number)
            if number == 0:
                await copies.copy_new(case.programs)

    await case.on(open_many)
    await case.run()
    await case.restore()
    async with opened(case.settings("new")) as platform:
        found = await platform.database.reader.backups.latest_channels(NODE)
    assert found.content == b"%d channels" % (CHANNEL_BACKUPS_KEPT + 1)


async def test_a_damaged_copy_of_channel_backups_that_is_not_needed_stops_no_restore(
    case: StoredHome,
) -> None:
    folder = case.folder / "not ours"
    folder.mkdir()
    for name in ("installation", NODE):
        (folder / name).write_text(f"{name} {os.urandom(9).hex()}")
    before = set((case.files / "data").rglob("*"))
    await case.store.add(folder, host="here", kind=CHANNELS)
    of_channels = set((case.files / "data").rglob("*")) - before
    await case.run()
    for path in of_channels:
        if path.is_file():
            case.damage(path)
    await case.restore()


async def test_the_channel_backup_that_follows_a_deleted_node_s_is_copied(
    case: StoredHome,
) -> None:
    async def follow(platform: Platform) -> list[bool]:
        copies, looked = ChannelCopies(platform), []
        for content in (b"one channel", b"two channels"):
            async with platform.database.transaction() as tx:
                await tx.backups.delete(NODE)  # its number is given again
            await store_channels(platform, content)
            looked.append(await copies.copy_new(case.programs))
        return looked

    assert await case.on(follow) == [True, True]


async def test_channel_backups_of_another_installation_are_not_added(
    case: StoredHome,
) -> None:
    folder = case.folder / "of another"
    folder.mkdir()
    (folder / "installation").write_text("0123456789abcdef")
    (folder / NODE).write_bytes(b"channels of another")
    await case.store.add(folder, host="elsewhere", kind=CHANNELS)
    await case.restore()
    async with opened(case.settings("new")) as platform:
        assert await platform.database.reader.backups.newest_channels(limit=1) == []
