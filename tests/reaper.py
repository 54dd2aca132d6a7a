"""Nothing that tests start outlives them, however they end: kill -9, Ctrl-C, a timeout.

    caller
      └─ the process that was started     waits, and hands on signals and the exit code
           └─ reaper                      a child subreaper: orphans become its children
                └─ pytest                 everything that tests start is below it

Whichever of the first and the last ends, the reaper ends all that is left below it, and
removes what they leave behind: files, mounts, control groups, nft tables. If the reaper
itself is killed, the first one does that.

Daemons are started so that they outlive their starter, with sessions, control groups
and an environment of their own: no process group and no marker finds them all. The
kernel's list of descendants does, without root, and it holds nobody else.

    python tests/reaper.py WORDS     runs Python with WORDS in the same way

is how each worker of pytest-xdist is started: what it leaves behind ends with it, not
with the last of them.
"""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NoReturn

PORTS: Final = "TEST_RUN_PORTS"  # the ledger that all runs on a machine share

_DEATH_SIGNAL, _NAME, _SUBREAPER = 1, 15, 36  # of prctl
_SENT_BY_A_PROCESS = 0  # si_code; a terminal signals the whole group by itself
_WATCHED: Final = (
    *(signal.SIGCHLD, signal.SIGINT),
    *(signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
)
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  a folder of the run's own in it
_ENOUGH_KIB = 4 << 20  # of what is free, for a test's databases and all else
_ASKED_FOR_S = 2.0  # PostgreSQL leaves shared memory behind when it is not asked first
_KILLED_FOR_S = 20.0
_LOOK_AGAIN_S = 0.05
_MOUNTED_AT = 4  # the field of /proc/self/mountinfo


def supervise(folder: Path | None = None) -> None:
    """Return in a new process below a reaper; the calling one waits for it."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    first, group = os.getpid(), os.getpgrp()
    _control(_SUBREAPER, 1)
    reaper = os.fork()
    if reaper:
        _wait(reaper, folder)
    _end_with(first, signal.SIGTERM)
    os.setpgid(0, 0)  # a signal to the group, from a terminal say, is not for us
    _control(_SUBREAPER, 1)
    own = os.getpid()
    tests = os.fork()
    if tests:
        _watch(tests, folder)
    _end_with(own, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.setpgid(0, group)
    # Jobs in the background of a shell ignore it, and all that tests start would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def make_folder() -> Path:
    """Make the folder of a run, and have programs use it for temporary files.

    Nodes have users of their own, who have to pass through it.
    """
    outside = tempfile.gettempdir()
    os.environ.setdefault(PORTS, f"{outside}/leyden-test-ports")
    folder = Path(tempfile.mkdtemp(prefix="leyden-", dir=outside))
    folder.chmod(0o711)
    with contextlib.suppress(OSError):
        (_MEMORY / folder.name).mkdir()
        (_MEMORY / folder.name).chmod(0o711)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    return folder


def in_memory() -> str | None:
    """Return the folder of the run for what has nothing to do with disks, or None.

    A database there is several times as quick, and what it does is the same.
    """
    own = _MEMORY / Path(tempfile.gettempdir()).name
    free = re.search(r"MemAvailable: +(\d+)", Path("/proc/meminfo").read_text())
    if not own.is_dir() or free is None or int(free[1]) < _ENOUGH_KIB:
        return None
    return str(own) if shutil.disk_usage(own).free >= _ENOUGH_KIB << 9 else None


def _wait(reaper: int, folder: Path | None) -> NoReturn:
    """Forward what comes to the first process, and return the exit code."""
    _let_go_of_files()
    while True:
        answer = signal.sigwaitinfo(_WATCHED)
        if answer.si_signo != signal.SIGCHLD:
            if answer.si_signo != signal.SIGINT or answer.si_code == _SENT_BY_A_PROCESS:
                os.kill(reaper, answer.si_signo)
        elif (code := _reaped(reaper)) is not None:
            if code < 0:  # it was killed, and we are the next subreaper
                _end(folder)
            os._exit(code if code >= 0 else 128 - code)


def _watch(tests: int, folder: Path | None) -> NoReturn:
    """Reap orphans until the tests have ended, or whoever waits for them."""
    _control(_NAME, b"leyden-reaper")
    _let_go_of_files()
    code = None
    while code is None:
        answer = signal.sigwaitinfo(_WATCHED)
        if answer.si_signo == signal.SIGCHLD:
            code = _reaped(tests)
        elif answer.si_signo == signal.SIGINT:
            os.kill(tests, signal.SIGINT)
        else:
            code = -answer.si_signo
            os.kill(tests, signal.SIGKILL)
    _end(folder)
    os._exit(code if code >= 0 else 128 - code)


def _end(folder: Path | None) -> None:
    """End what is below us, and remove what it leaves."""
    _all(signal.SIGTERM, _ASKED_FOR_S)
    _all(signal.SIGKILL, _KILLED_FOR_S)
    if folder is not None:
        clear(folder)


def _all(number: int, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    counts: set[int] = set()
    while (left := descendants(os.getpid())) and time.monotonic() < deadline:
        for pid in left - counts:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        counts = left
        signal.sigtimedwait([signal.SIGCHLD], _LOOK_AGAIN_S)
        _reaped(0)
    _reaped(0)


def descendants(pid: int) -> set[int]:
    """Return who is below a process and has not ended."""
    children: dict[int, list[int]] = {}
    ended = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = Path(entry.path, "stat").read_bytes().rpartition(b")")[2]
                state, parent = stat.split()[:2]
                children.setdefault(int(parent), []).append(int(entry.name))
                if state in {b"Z", b"X"}:
                    ended.add(int(entry.name))
    found: set[int] = set()
    ahead = [pid]
    while ahead:
        below = children.get(ahead.pop(), [])
        found.update(below)
        ahead += below
    return found - ended


def _reaped(wanted: int) -> int | None:
    """Reap every child that has ended; return the code of one of them."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            if pid == wanted:
                code = os.waitstatus_to_exitcode(status)
    return code


def clear(folder: Path) -> None:
    """Remove the folder, what is mounted in it, and what belongs to homes in it."""
    for point in sorted(_mounted_below(folder), reverse=True):
        subprocess.run(["umount", "--lazy", point], check=False)
    names = {*_names_of_homes(folder)}
    _remove_tables(names)
    _remove_groups(names)
    _remove(folder)
    if (_MEMORY / folder.name).is_dir():
        _remove(_MEMORY / folder.name)


def _mounted_below(folder: Path) -> Iterator[str]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        point = line.split(" ")[_MOUNTED_AT].encode().decode("unicode_escape")
        if point.startswith(f"{folder}/"):
            yield point


def _names_of_homes(folder: Path) -> Iterator[str]:
    """Return how the tables and groups of any installation below are called."""
    from leyden.nodes.runtimes.local.egress_policy import table_of  # noqa: PLC0415  not for workers
    from leyden_workshop.devcluster.layout import ClusterLayout  # noqa: PLC0415  not for workers

    for path, _, _ in os.walk(folder):
        yield table_of(Path(path))
        yield ClusterLayout(Path(path)).name


def _remove_tables(names: set[str]) -> None:
    if os.geteuid() or (nft := shutil.which("nft")) is None:
        return
    listed = subprocess.run(
        [nft, "list", "tables", "inet"], capture_output=True, text=True, check=False
    )
    for name in names & {*listed.stdout.split()}:
        subprocess.run([nft, "delete", "table", "inet", name], check=False)


def _remove_groups(names: set[str]) -> None:
    for path, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if Path(path).name in names:
            for group, _, _ in os.walk(path, topdown=False):
                with contextlib.suppress(OSError):
                    Path(group).rmdir()


def _remove(folder: Path) -> None:
    def open_up(again: Callable[..., object], path: str, _: object) -> None:
        # Nothing above the folder is touched: it is not ours.
        for each in (Path(path).parent, Path(path)):
            if each == folder or folder in each.parents:
                with contextlib.suppress(OSError):
                    each.chmod(0o700)
        with contextlib.suppress(OSError):
            again(path)

    for _ in range(2):  # a folder that was closed is read once it is open
        if folder.is_dir():
            shutil.rmtree(folder, onerror=open_up)


def _end_with(parent: int, number: int) -> None:
    """Get this signal when our parent has ended."""
    _control(_DEATH_SIGNAL, number)
    if os.getppid() != parent:  # it ended before it could be asked for
        os.kill(os.getpid(), number)


def _control(option: int, value: int | bytes) -> None:
    given = (
        ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value)
    )
    ctypes.CDLL(None).prctl(option, given, *(ctypes.c_ulong(0),) * 3)


def _let_go_of_files() -> None:
    """Close what is only for the tests: whoever reads from them waits for the end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    for each in [*Path("/proc/self/fd").iterdir()]:
        if int(each.name) > 2:
            with contextlib.suppress(OSError):
                os.close(int(each.name))


if __name__ == "__main__":
    supervise()
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])  # noqa: S606  no shell
