"""The first process of a machine: steps in their order, programs kept running."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leyden.processes import identify
from leyden_workshop.devcluster.plans import Plan, Program, Step, program, shell, step

WITHIN_S = 30


def until(what: str, holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@contextmanager
def doing(folder: Path, *todo: Step | Program) -> Iterator["subprocess.Popen[str]"]:
    environment = {"PATH": os.defpath, "FOLDER": str(folder)}
    Plan(logs=folder, environment=environment, todo=todo).write(folder / "plan.json")
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "leyden_workshop.devcluster.supervisor",
            folder / "plan.json",
        ],
        stderr=subprocess.PIPE,
        text=True,
    ) as supervisor:
        try:
            yield supervisor
        finally:
            supervisor.kill()


def running(file: Path) -> int:
    """Return the newest pid that a program wrote down."""
    lines = file.read_text().split() if file.exists() else []
    return int(lines[-1]) if lines else 0


LASTING = program(
    "lasting", "/bin/sh", "-c", 'echo $$ >> "$FOLDER/pids"; exec sleep 1000'
)


def test_what_comes_later_waits_for_a_step_that_takes_some_tries(
    tmp_path: Path,
) -> None:
    """The second step is done once the program has made what it looks for."""
    with doing(
        tmp_path,
        program("maker", "/bin/sh", "-c", 'sleep 0.2; : > "$FOLDER/made"; sleep 1000'),
        step("test", "-e", tmp_path / "made", within_s=WITHIN_S),
        shell(': > "$FOLDER/after"'),
    ):
        until("the last step", (tmp_path / "after").exists)
        assert (tmp_path / "made").exists()


def test_a_step_that_cannot_be_done_ends_it_with_the_reason(tmp_path: Path) -> None:
    failing = shell("echo no such tide >&2; exit 3")
    with doing(tmp_path, LASTING, failing, shell(': > "$FOLDER/after"')) as supervisor:
        _, said = supervisor.communicate(timeout=WITHIN_S)
        assert supervisor.returncode == 1
        assert said.strip().endswith("no such tide")
        assert not (tmp_path / "after").exists()


def test_a_program_that_ends_is_started_again(tmp_path: Path) -> None:
    with doing(tmp_path, LASTING):
        until("its first start", lambda: running(tmp_path / "pids"))
        first = running(tmp_path / "pids")
        os.kill(first, signal.SIGKILL)
        until("its second start", lambda: running(tmp_path / "pids") != first)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends them on Linux")
def test_its_programs_end_with_it(tmp_path: Path) -> None:
    with doing(tmp_path, LASTING) as supervisor:
        until("its start", lambda: running(tmp_path / "pids"))
        found = identify(running(tmp_path / "pids"))
        assert found is not None
        supervisor.kill()
        until("its end", lambda: identify(found.pid) != found)
