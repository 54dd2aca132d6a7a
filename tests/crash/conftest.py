"""Killing programs: at a chosen fsync, by strace; or at a chosen instant."""

import itertools
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.victim import TASKS
from tests.programs import require

EVERY_TASK = sorted(f"task {number}" for number in range(TASKS))
# Every sixth place to kill at, others each time; all of them with `--long`.
some_or_all = pytest.mark.parametrize(
    "every", [6, pytest.param(1, marks=pytest.mark.long)], ids=["some", "all"]
)


def crash_points(every: int) -> Iterator[int]:
    """Number the places to kill at: the caller stops where nothing is killed."""
    first = random.SystemRandom().randint(1, every)
    print(f"killed at {first}, and at each {every}th after it")  # noqa: T201
    yield from range(first, 200, every)
    raise AssertionError("the story does not end")


@dataclass(frozen=True)
class Said:
    """What a victim said before its end."""

    lines: list[str]
    killed: bool

    def of(self, word: str) -> list[str]:
        return [
            line.removeprefix(word).strip()
            for line in self.lines
            if line.startswith(word)
        ]


def run_victim(
    story: str,
    *words: str,
    module: str = "tests.crash.victim",
    kill_at_fsync: int | None = None,
    kill_at: tuple[str, int] | None = None,
) -> Said:
    """Run a story to its end, or to the call at which it is killed."""
    if kill_at_fsync is not None:
        kill_at = ("fsync,fdatasync", kill_at_fsync)
    command = [sys.executable, "-m", module, story, *words]
    if kill_at is not None:
        calls, number = kill_at
        # Not with --seccomp-bpf, which is quicker: only the first call is counted then.
        inject = f"inject={calls}:signal=SIGKILL:when={number}"
        command = [
            *("strace", "-f", "-qq", "-o", os.devnull),
            *("-e", f"trace={calls}", "-e", inject),
            *command,
        ]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    )
    lines = done.stdout.splitlines()
    killed = "the end" not in lines
    if killed and "Traceback" in done.stderr:
        raise AssertionError(done.stderr)
    return Said(lines, killed)


@pytest.fixture
def fresh(sqlite_template: Path, tmp_path: Path) -> Iterator[str]:
    """URLs of databases that are migrated and empty."""

    def made() -> Iterator[str]:
        for number in itertools.count(1):
            path = tmp_path / f"{number}.db"
            shutil.copy(sqlite_template, path)
            yield f"sqlite:///{path}"

    return made()


@pytest.fixture
def strace() -> None:
    require("strace")
