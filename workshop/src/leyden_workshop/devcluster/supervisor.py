"""The first process of a machine: runs the steps of a plan, and keeps programs running.

In a process namespace of its own it is process 1, so everything ends with it. Otherwise
its programs ask the kernel to be killed when it ends. It uses only the standard
library, so that it starts fast and stays small.

    python -m leyden_workshop.devcluster.supervisor PLAN
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

_DEATH_SIGNAL: Final = 1  # of prctl
_STEP_S: Final = 120.0  # a step that takes longer has failed
_AGAIN_S: Final = 0.05
_FIRST_WAIT_S: Final = 1.0
_LAST_WAIT_S: Final = 10.0
_LONG_ENOUGH_S: Final = 30.0  # after a run this long, the wait starts over
_MAX_LOG: Final = 32 << 20
_TURN_S: Final = 5.0


class _Supervised:
    """A program that is running, or waits to be restarted."""

    def __init__(self, name: str, argv: list[str], supervisor: "_Supervisor") -> None:
        self.name = name
        self._argv = argv
        self._supervisor = supervisor
        self._wait_s = _FIRST_WAIT_S
        self._began = 0.0
        self.pid = 0
        self.due = 0.0

    def start(self) -> None:
        """Start the program."""
        self._began = time.monotonic()
        with self.log.open("ab") as file:
            child = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=self._supervisor.environment,
                preexec_fn=_end_with_parent,  # noqa: PLW1509  one thread, no locks
            )
        child.returncode = 0  # it is reaped with all others, not by Popen
        self.pid = child.pid

    def ended(self, status: int) -> None:
        """Schedule a restart after the program ended, with growing delay."""
        if time.monotonic() - self._began > _LONG_ENOUGH_S:
            self._wait_s = _FIRST_WAIT_S
        _say(f"{self.name} ended ({status}); restart in {self._wait_s:.0f} s")
        self.pid = 0
        self.due = time.monotonic() + self._wait_s
        self._wait_s = min(2 * self._wait_s, _LAST_WAIT_S)

    @property
    def log(self) -> Path:
        """The file of the program's output."""
        return self._supervisor.logs / f"{self.name}.log"


class _Supervisor:
    """Runs a plan, and keeps its programs running."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._todo = plan["todo"]
        self.environment: dict[str, str] = plan["environment"]
        self.logs = Path(plan["logs"])
        self._programs: list[_Supervised] = []

    def run(self) -> None:
        """Run all steps, then keep the programs running."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        for each in self._todo:
            if each["kind"] == "step":
                self._do(each["argv"], each["within_s"])
            else:
                program = _Supervised(each["name"], each["argv"], self)
                self._programs.append(program)
                program.start()
        _say("all programs are started")
        while True:
            signal.sigtimedwait({signal.SIGCHLD}, self._turn_s())
            self._tend()

    def _do(self, argv: list[str], within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while True:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self.environment,
                timeout=_STEP_S,
                check=False,
                preexec_fn=_end_with_parent,
            )
            if done.returncode == 0:
                return
            if time.monotonic() >= deadline:
                said = (done.stderr or done.stdout).decode(errors="replace").strip()
                _say(f"failed: {' '.join(argv)}: {said}")
                sys.exit(1)
            self._tend()
            time.sleep(_AGAIN_S)

    def _tend(self) -> None:
        """Reap ended processes, and start programs that are due."""
        for pid, status in _reaped():
            for program in self._programs:
                if program.pid == pid:
                    program.ended(status)
        for program in self._programs:
            if not program.pid and time.monotonic() >= program.due:
                program.start()
            if program.log.stat().st_size > _MAX_LOG:
                os.truncate(program.log, 0)

    def _turn_s(self) -> float:
        now = time.monotonic()
        waits = [max(0.0, each.due - now) for each in self._programs if not each.pid]
        return min([_TURN_S, *waits])


def _reaped() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return found
            found.append((pid, os.waitstatus_to_exitcode(status)))
    except ChildProcessError:
        return found


_libc = ctypes.CDLL(None)


def _end_with_parent() -> None:
    """Ask the kernel, between fork and exec, to kill this child when we end."""
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    _libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)


def _say(line: str) -> None:
    print(time.strftime("%H:%M:%S"), line, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    os.umask(0o022)  # users of containers read files that are created here
    _Supervisor(json.loads(Path(sys.argv[1]).read_text())).run()
