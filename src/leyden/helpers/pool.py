"""The pool of helpers: as many as there are threads that wait for one."""

import atexit
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from leyden.errors import Away, Malformed
from leyden.helpers import frames
from leyden.processes import set_niceness
from leyden.values import Struct

log = logging.getLogger(__name__)

_MOST_NICENESS: Final = 19
_NICER_BY: Final = 5  # than we are: a third of our share; nodes have a ninth
_MOST_CPU_S: Final = 5.0  # the worst that is known takes 0.2 s
_MOST_S: Final = 30.0  # on the clock: it may wait for a processor
_ENDS_WITHIN_S: Final = 1.0
_TRIES: Final = 2
_HARMLESS: Final = ("HOME", "LANG", "PATH", "TZ")
_TOO_LONG: Final = "what you sent takes too long to read; send less, or simpler"
_TOO_LARGE: Final = "what you sent takes too much memory to read; send less"
_AWAY: Final = "what you sent could not be read; try again in a moment"


class Outcome(Struct, frozen=True):
    """The result of a call, and the CPU time that it took."""

    value: Any
    error: BaseException | None
    cpu_s: float


class Helpers:
    """Helpers that are started on demand, and kept for the next call."""

    def __init__(
        self, *, most_cpu_s: float = _MOST_CPU_S, most_s: float = _MOST_S
    ) -> None:
        self._most_cpu_s = most_cpu_s
        self._most_s = most_s
        self._idle: list[_Helper] = []

    def compute(self, work: Callable[[], Any]) -> Outcome:
        """Do the work in a helper; `work` and its result must be picklable.

        A helper that has ended, killed for example, is replaced once. The work
        may be done twice then.
        """
        frame = pickle.dumps(work)
        taken_s = 0.0
        for _ in range(_TRIES):
            try:
                helper = self._kept() or self._start()
            except OSError as why:  # no memory or process to be had
                log.warning("could not start a helper: %s", why)
                break
            taken_s = self._most_cpu_s  # unless it says how much it took
            try:
                answer = helper.call(frame)
            except TimeoutError:
                log.warning("helper %s was killed: no response", helper.pid)
                helper.end()
                break
            except (EOFError, OSError):
                code = helper.end()
                log.warning("helper %s has ended with %s", helper.pid, code)
                if code == -signal.SIGPROF:
                    return Outcome(None, Malformed(_TOO_LONG), taken_s)
                if code == -signal.SIGABRT:  # how Rust says that memory is short
                    return Outcome(None, Malformed(_TOO_LARGE), taken_s)
            else:
                self._idle.append(helper)
                return _outcome(answer)
        return Outcome(None, Away(_AWAY, retry_after_s=1), taken_s)

    def _kept(self) -> "_Helper | None":
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _start(self) -> "_Helper":
        atexit.unregister(self.close)
        atexit.register(self.close)
        return _Helper(most_cpu_s=self._most_cpu_s, most_s=self._most_s)

    def close(self) -> None:
        """Stop idle helpers; new ones can be started afterwards."""
        while helper := self._kept():
            helper.end()


def _outcome(answer: bytes) -> Outcome:
    value, error, cpu_s = pickle.loads(answer)  # noqa: S301  by a helper of ours
    if isinstance(error, MemoryError):
        error = Malformed(_TOO_LARGE)
    return Outcome(value, error, cpu_s)


class _Helper:
    """One helper process. It ends when its end of the connection is closed."""

    def __init__(self, *, most_cpu_s: float, most_s: float) -> None:
        self._connection, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "leyden.helpers", str(most_cpu_s)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=_environment(),
                    start_new_session=True,  # a Ctrl-C is for us alone
                )
            except BaseException:
                self._connection.close()
                raise
        self._connection.settimeout(most_s)
        self.pid = self._process.pid
        until_s = time.monotonic() + _ENDS_WITHIN_S
        niceness = min(os.nice(0) + _NICER_BY, _MOST_NICENESS)
        while not set_niceness(self.pid, niceness) and time.monotonic() < until_s:
            time.sleep(0.01)

    def call(self, frame: bytes) -> bytes:
        """Send a call and return its answer; raise OSError or EOFError if it ended."""
        frames.send(self._connection, frame)
        return frames.receive(self._connection)

    def end(self) -> int:
        """End it, and return its exit code."""
        self._connection.close()
        try:
            code: int = self._process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return code


def _environment() -> dict[str, str]:
    """Return the harmless part of our environment; the rest may hold secrets."""
    environment = {name: os.environ[name] for name in _HARMLESS if name in os.environ}
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
