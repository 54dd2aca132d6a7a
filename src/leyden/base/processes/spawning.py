"""Start programs that outlive us, with the niceness that they get."""

import asyncio
import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from leyden.base.processes.claims import take
from leyden.base.processes.identity import (
    ProcessIdentity,
    identify_after_exec,
    start_of,
)
from leyden.base.processes.shell import (
    ResourceLimits,
    as_user,
    can_change_user,
    still_shell,
    through_shell,
)
from leyden.errors import SetupError

__all__ = ["ResourceLimits", "spawn"]

# The variables that programs inherit by default: our environment contains secrets.
_HARMLESS = ("HOME", "LANG", "PATH", "TZ")
_POLL_S = 0.001
# Without privileges a raised niceness can't be lowered again.
_MAX_FOR_GOOD: Final = 10


async def spawn(
    argv: Sequence[str],
    *,
    log: Path,
    claim: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    limits: ResourceLimits | None = None,
    uid: int | None = None,
    gid: int | None = None,
    niceness: int = 0,
) -> ProcessIdentity:
    """Start a program that outlives us, or return the holder of its claim.

    An identity is returned even if the program ended at once: exited() returns
    its code, and the log says why.
    """
    program = argv[0]
    if not os.access(program, os.X_OK):
        raise SetupError(f"{program} is missing or not executable")
    if uid is not None and can_change_user():
        argv, uid, gid = as_user(argv, uid, uid if gid is None else gid), None, None
    held = os.open(os.devnull, os.O_WRONLY) if claim is None else await take(claim)
    if isinstance(held, ProcessIdentity):
        return held
    fork = partial(
        _fork,
        through_shell(argv, limits or ResourceLimits()),
        held=held,
        claimed=claim is not None,
        log=log,
        cwd=cwd,
        env=env,
        uid=uid,
        gid=gid,
    )
    # In a thread, as /proc shows no program while the kernel replaces it, which takes
    # 20 ms on a busy machine. It closes the claim's file, even if we are cancelled.
    starting = asyncio.to_thread(_start, program, fork, held, niceness)
    return await asyncio.shield(asyncio.ensure_future(starting))


def _start(
    program: str, fork: Callable[[], int], held: int, niceness: int
) -> ProcessIdentity:
    """Fork, and wait until the child has become the program."""
    try:
        pid = fork()
    finally:
        os.close(held)
    if niceness:
        set_niceness(pid, niceness)
    while still_shell(pid):  # there is no event for an exec
        time.sleep(_POLL_S)
    # A zombie of ours stays until we reap it, so its start can still be read.
    return identify_after_exec(pid) or ProcessIdentity(pid, start_of(pid), program)


def _fork(
    argv: Sequence[str],
    *,
    held: int,
    claimed: bool,
    log: Path,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    uid: int | None,
    gid: int | None,
) -> int:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if env is None:
        env = {name: os.environ[name] for name in _HARMLESS if name in os.environ}
    try:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=held,
            stderr=output,
            cwd=cwd,
            env=env,
            pass_fds=(held,) if claimed else (),
            start_new_session=True,
            umask=0o077,
            user=uid,
            group=gid,
            extra_groups=None if uid is None else (),
        )
    finally:
        os.close(output)
    # We reap it through its pidfd; Popen must not do so, nor warn that it still runs.
    child.returncode = 0
    return child.pid


def set_niceness(pid: int, niceness: int) -> bool:
    """Set the niceness of a session's leader, its threads and its session.

    Return False if the kernel says to try again later. Ignore what is not
    permitted (another user's process), or not supported.

    Linux may schedule by session first (autogroup): then the niceness of the session
    counts, and that of a process only within its session. A spawned program leads a
    session of its own, so both are set.
    """
    own = niceness if os.geteuid() == 0 else min(niceness, _MAX_FOR_GOOD)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, own)  # of all threads, unlike PRIO_PROCESS
    try:
        Path(f"/proc/{pid}/autogroup").write_text(str(niceness))
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
