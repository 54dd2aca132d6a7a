"""A migration that takes away what an older version uses waits until none runs."""

import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.upgrade import future

_MIGRATE = "import sys; from leyden.storage import schema; schema.migrate(sys.argv[1])"
_RUNS = "INSERT INTO replica (id, newest, until) VALUES ('one', %s, %s)"


def migrated(source: Path, url: str) -> "subprocess.CompletedProcess[str]":
    """Migrate as the version to come does."""
    return subprocess.run(
        [sys.executable, "-c", _MIGRATE, url],
        env={"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def to_come(tmp_path: Path) -> Path:
    source = future.version(tmp_path / "to come")
    future.expand(source)
    future.contract(source)
    return source


def test_it_is_refused_and_changes_nothing_while_one_runs(
    to_come: Path, postgres_url: str
) -> None:
    in_a_minute = (int(time.time()) + 60) * 1_000_000
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        run = connection.execute
        run(_RUNS, ("0043_replicas", in_a_minute))
        refused = migrated(to_come, postgres_url)
        assert "1 replicas of an older version run" in refused.stderr
        assert f"whose newest migration is {future.NEXT} first" in refused.stderr
        run("SELECT * FROM node_drill")
        run("UPDATE replica SET newest = %s", (future.NEXT,))
        assert migrated(to_come, postgres_url).returncode == 0
        assert run("SELECT oldest FROM schema_floor").fetchall() == [(future.NEXT,)]
        assert run("SELECT to_regclass('node_drill')").fetchall() == [(None,)]


def test_one_that_has_died_is_not_waited_for(to_come: Path, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        long_ago = (int(time.time()) - 1) * 1_000_000
        connection.execute(_RUNS, ("0043_replicas", long_ago))
        assert migrated(to_come, postgres_url).returncode == 0


def test_where_one_process_runs_nobody_is_asked(to_come: Path, sqlite_url: str) -> None:
    assert migrated(to_come, sqlite_url).returncode == 0
