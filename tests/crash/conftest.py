"""Killing programs: at a chosen fsync, by strace; or at a chosen instant."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.crash.victim import TASKS

EVERY_TASK = sorted(f"task {number}" for number in range(TASKS))


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
def strace() -> None:
    if shutil.which("strace") is None:
        assert not os.environ.get("CI"), "CI installs strace"
        pytest.skip("strace is not installed; on Debian: apt-get install strace")
