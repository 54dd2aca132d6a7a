"""Start and end processes in namespaces of their own: mounts, processes, network.

The process that we start is outside of the process namespace, and everything inside
ends with it. It is in the other two itself, so its pid gives access to all three.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from leyden.base import processes
from leyden.base.processes import ProcessIdentity
from leyden.errors import SetupError

_UNSHARE: Final = (
    *("--mount", "--pid", "--net", "--fork"),
    *("--kill-child", "--propagation", "private"),
)
_ENDS_WITHIN_S: Final = 30.0
_POLL_S: Final = 0.02


async def start(folder: Path, plan: Path, *, apart: bool) -> ProcessIdentity:
    """Start the supervisor of a plan, in namespaces of its own (`apart`) or in ours.

    If it is already running, return it.
    """
    supervisor = [
        sys.executable,
        "-m",
        "leyden_workshop.devcluster.supervisor",
        str(plan),
    ]
    if apart:
        supervisor = [_program("unshare"), *_UNSHARE, "--", *supervisor]
    found = await processes.spawn(
        supervisor, log=log_of(folder), claim=_claim(folder), cwd=Path("/")
    )
    # At first it is still in our namespaces: a link moved to it would end up here.
    while apart and processes.alive(found) and not _is_apart(found):  # noqa: ASYNC110
        await asyncio.sleep(_POLL_S)
    return found


def running(folder: Path) -> ProcessIdentity | None:
    """Return the process of a folder, if it is running."""
    return processes.holder(_claim(folder)) if folder.is_dir() else None


def log_of(folder: Path) -> Path:
    """Return the log file of a supervisor."""
    return folder / "supervisor.log"


def last_words(folder: Path) -> str:
    """Return the last line of a supervisor's log."""
    with contextlib.suppress(FileNotFoundError):
        lines = log_of(folder).read_text(errors="replace").splitlines()
        return next((each for each in reversed(lines) if each.strip()), "")
    return ""


def enter(pid: int, *, mounts: bool = False, own: bool = False) -> list[str]:
    """Return the prefix of a command that runs in the network namespace of a machine.

    With `mounts`, it also has the machine's file system. With `own`, it is one of the
    machine's processes, and ends with it.
    """
    words = [_program("nsenter"), f"--net=/proc/{pid}/ns/net"]
    if mounts:
        words.append(f"--mount=/proc/{pid}/ns/mnt")
    if own:
        words.append(f"--pid=/proc/{pid}/ns/pid_for_children")
    return [*words, "--"]


async def end(folder: Path) -> bool:
    """End a folder's process and everything inside; return whether there was one."""
    found = running(folder)
    if found is None:
        return False
    within = _namespace(found.pid, "pid_for_children")
    apart = _is_apart(found)
    # The kernel ends its programs a moment later.
    children = [] if apart else _children(found.pid)
    processes.signal(found, signal.SIGKILL)
    deadline = asyncio.get_running_loop().time() + _ENDS_WITHIN_S
    while (
        any(map(processes.alive, [found, *children]))
        or _locked(folder)
        or (apart and _any_in(within))
    ):
        if asyncio.get_running_loop().time() > deadline:
            raise SetupError(
                f"{folder.name}: its processes do not end; see `dmesg` for the reason"
            )
        await asyncio.sleep(_POLL_S)
    return True


def _is_apart(found: ProcessIdentity) -> bool:
    """Return whether a process is in its namespaces; the process namespace is last."""
    within = _namespace(found.pid, "pid_for_children")
    return bool(within) and within != _namespace(os.getpid(), "pid_for_children")


def _locked(folder: Path) -> bool:
    return processes.held_by_unseen_program(_claim(folder))


def _children(pid: int) -> list[ProcessIdentity]:
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            identity = processes.identify(int(entry.name))
            # The first two fields after the name: state, parent.
            if identity and processes.stat_fields(identity)[1:2] == [b"%d" % pid]:
                found.append(identity)
    return found


def _any_in(namespace: str) -> bool:
    """Return whether any process is in a process namespace, or below it."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and _namespace(int(entry.name), "pid") == namespace:
            return True
    return False


def _namespace(pid: int, kind: str) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/{kind}").readlink())
    except OSError:
        return ""


def _claim(folder: Path) -> Path:
    return folder / "claim"


def _program(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        raise SetupError(f"{name} is not installed; it is in the package util-linux")
    return found


def programs() -> Sequence[str]:
    """Return the programs of this host that are needed."""
    return ("unshare", "nsenter", "mount", "umount", "pivot_root")
