"""Whatever ends a run of tests, nothing of it goes on, and nobody else is ended."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from leyden.base.processes import ProcessIdentity, alive
from leyden.nodes.runtimes.local import nftables
from tests import reaped_victim
from tests.reaper import clear

ROOT = Path(__file__).parents[1]
VICTIM = "tests/reaped_victim.py"
PYTEST = (sys.executable, "-m", "pytest")
LEYDEN = (str(Path(sys.executable).with_name("leyden")), "test")
# Without what takes long to import or runs the two tests in another order.
BRIEF = (
    *(VICTIM, "-q"),
    *("-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:schemathesis"),
)
WITHIN_S = 60

pytestmark = pytest.mark.timeout(300)


def until(what: str, holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@contextmanager
def a_run(
    folder: Path, *words: str, wish: str = "wait"
) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any]]]:
    """Start a run, wait until its daemons are there, and see that they end with it."""
    report = folder / "report"
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "TEST_RUN_REPORT"))
    }
    environment |= {reaped_victim.REPORT: str(report), reaped_victim.WISH: wish}
    with (
        (folder / "output").open("w") as output,
        subprocess.Popen(
            (*words, *BRIEF),
            cwd=ROOT,
            env=environment,
            text=True,
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as run,
    ):
        try:
            until("the run begins", lambda: report.exists() or run.poll() is not None)
            assert report.exists(), (folder / "output").read_text()
            left = json.loads(report.read_text())
            yield run, left
            daemons = [ProcessIdentity.read(each) for each in left["daemons"]]
            until("they end", lambda: not any(map(alive, daemons)))
            until("its files go", lambda: not Path(left["folder"]).exists())
            memory = Path("/dev/shm", Path(left["folder"]).name)  # noqa: S108
            until("those in memory go", lambda: not memory.exists())
        finally:
            run.kill()


@pytest.mark.parametrize(
    "words",
    [PYTEST, pytest.param(LEYDEN, marks=pytest.mark.long)],
    ids=["pytest", "leyden test"],
)
def test_whatever_a_killed_run_has_made_goes_with_it(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    with subprocess.Popen(["/bin/sleep", "600"]) as stranger:
        with a_run(tmp_path, *words, wish="wait everything") as (run, left):
            run.send_signal(signal.SIGKILL)
        assert stranger.poll() is None
        stranger.kill()
    assert len(left["daemons"]) == 3
    mounted = Path("/proc/self/mountinfo").read_text()
    assert not left["mount"] or left["mount"] not in mounted
    assert not left["table"] or left["table"] not in nftables.applied()
    if left["groups"]:
        assert not [*Path("/sys/fs/cgroup").rglob(left["groups"])]


@pytest.mark.parametrize(
    "who", ["pytest", pytest.param("reaper", marks=pytest.mark.long)]
)
def test_whoever_of_it_is_killed_the_rest_ends(tmp_path: Path, who: str) -> None:
    with a_run(tmp_path, *PYTEST) as (run, left):
        os.kill(left[who], signal.SIGKILL)
        assert run.wait(WITHIN_S) == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, pytest.ExitCode.INTERRUPTED), (signal.SIGTERM, 128 + 15)],
)
def test_a_run_that_is_asked_to_end_takes_all_with_it(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with a_run(tmp_path, *PYTEST) as (run, _):
        run.send_signal(number)
        assert run.wait(WITHIN_S) == code


def test_what_a_run_forgot_ends_with_it(tmp_path: Path) -> None:
    with a_run(tmp_path, *PYTEST, wish="") as (run, _):
        assert run.wait(WITHIN_S) == 0
    assert "2 passed" in (tmp_path / "output").read_text()


def test_what_a_killed_worker_started_ends_while_the_run_goes_on(
    tmp_path: Path,
) -> None:
    with a_run(tmp_path, *PYTEST, "-n", "1") as (run, left):
        os.kill(left["pytest"], signal.SIGKILL)
        assert run.wait(WITHIN_S) == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 1 passed" in (tmp_path / "output").read_text()


def test_a_folder_that_was_closed_is_removed_and_nothing_else_touched(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    (folder / "closed" / "below").mkdir(parents=True)
    (folder / "closed" / "below" / "file").touch()
    (folder / "closed" / "below").chmod(0)
    (folder / "closed").chmod(0)
    tmp_path.chmod(0o1777)
    for _ in range(2):  # the second time there is nothing left
        clear(folder)
        assert not folder.exists()
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777
