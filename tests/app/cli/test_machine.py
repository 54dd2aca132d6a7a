"""What the machine does not let one do: a line and an exit code, never a trace."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.disks import fill, set_read_only, small_disk
from tests.ports import free_port

LEYDEN = Path(sys.executable).with_name("leyden")
# All that opens a database, or makes a folder, in one way or another.
WRITING = [
    "orgs create Pier",
    "encryption-keys rotate",
    "serve",
]
LOOKING = ["orgs list"]


def typed(home: Path, words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LEYDEN, *words.split()],
        env={
            **os.environ,
            "LEYDEN_HOME": str(home),
            "LEYDEN_API_PORT": str(free_port()),
            "LEYDEN_METRICS_PORT": "0",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def is_told(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 1, result
    assert result.stdout == ""
    *before, last = result.stderr.splitlines()
    assert before == []
    assert last.startswith("leyden: ")


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the home of an installation on a disk that became read-only."""
    folder = tmp_path_factory.mktemp("disks") / "disk"
    with small_disk(folder, mib=16) as disk:
        assert typed(disk / "home", "migrate").returncode == 0
        set_read_only(disk)
        yield disk / "home"


@pytest.mark.parametrize(
    "words",
    [
        *WRITING,
        *LOOKING,
        pytest.param("up --detach", marks=pytest.mark.long),
    ],
)
def test_a_disk_that_is_read_only_is_named(read_only: Path, words: str) -> None:
    result = typed(read_only, words)
    is_told(result)
    assert str(read_only) in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        "migrate",
        "serve",
        pytest.param("up --detach", marks=pytest.mark.long),
    ],
)
def test_a_home_that_cannot_be_made_is_named(read_only: Path, words: str) -> None:
    result = typed(read_only / "new", words)
    is_told(result)
    assert str(read_only) in result.stderr


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", mib=4) as disk:
        assert typed(disk / "home", "migrate").returncode == 0
        fill(disk)
        is_told(typed(disk / "home", "orgs create Pier"))
        is_told(typed(disk / "new", "migrate"))


@pytest.mark.parametrize(
    "words", ["run", "list", "check", "drill", "init --recovery-key /nowhere/key"]
)
def test_a_backup_without_a_store_is_refused_before_programs_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("LEYDEN_CACHE", str(tmp_path / "cache"))  # without restic
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # and without a network
    result = typed(tmp_path / "home", f"backup {words}")
    is_told(result)
    assert "backup_store: is not set; set it to a folder" in result.stderr


def test_a_login_without_a_terminal_says_where_the_url_stands(tmp_path: Path) -> None:
    result = typed(tmp_path / "home", "login")
    is_told(result)
    assert "type it after `login`" in result.stderr
