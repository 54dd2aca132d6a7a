"""One process for each home and each SQLite file, however the one before ended."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.wiring.home import holder, only_one

HOLDS = """
import sys, time
from leyden.nodes.wiring.home import only_one
from leyden.base.settings import Settings
with only_one(Settings(home=sys.argv[1], database_url=sys.argv[2])):
    print("holds", flush=True)
    time.sleep(60)
"""


@contextmanager
def held(home: Path, database: str) -> Iterator["subprocess.Popen[str]"]:
    words = [sys.executable, "-c", HOLDS, str(home), database]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "holds\n"
            yield process
        finally:
            process.kill()


def test_a_second_one_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    with held(tmp_path / "home", "") as first:
        given = Settings(home=str(tmp_path / "home"))
        with pytest.raises(SetupError, match=f"in use by process {first.pid}; stop"):
            only_one(given).__enter__()
        assert holder(given) == first.pid


def test_so_it_is_for_two_homes_with_one_database(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/leyden.db"
    with held(tmp_path / "one", database) as first:
        given = Settings(home=str(tmp_path / "two"), database_url=database)
        with pytest.raises(SetupError, match=f"leyden.db is in use by .* {first.pid}"):
            only_one(given).__enter__()


def test_a_kill_leaves_nothing_to_clean_up(tmp_path: Path) -> None:
    given = Settings(home=str(tmp_path / "home"))
    with held(tmp_path / "home", "") as first:
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert holder(given) is None
        with only_one(given):
            pass
