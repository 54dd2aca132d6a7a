"""Wait for programs, stop and kill them.

Everything goes through a pidfd that was compared with the identity after it
was opened, so another process with the same pid is never affected.
"""

import asyncio
import contextlib
import os
import signal as signals

from leyden.base.processes.absence import ABSENT
from leyden.base.processes.identity import ProcessIdentity, identify, start_of

# Nothing survives SIGKILL for long, unless the disk below it hangs.
_KILLED_WITHIN_S = 10.0
# Exit codes of children, stored for callers that ask after the child was reaped.
_MAX_CODES = 1024
_codes: dict[ProcessIdentity, int] = {}


async def exited(identity: ProcessIdentity) -> int | None:
    """Wait for the end; return the exit code (minus the signal), or None if not ours.

    Later calls return the same result at once.
    """
    pidfd = _open(identity)
    if pidfd is not None:
        try:
            await _readable(pidfd)
        finally:
            os.close(pidfd)
    _reap(identity)
    return _codes.get(identity)


def signal(identity: ProcessIdentity, number: int) -> bool:
    """Send a signal to exactly this run; return False if it has ended."""
    pidfd = _open(identity)
    if pidfd is None:
        return False
    try:
        signals.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(pidfd)
    return True


async def stop(identity: ProcessIdentity, *, grace_s: float) -> int | None:
    """Stop it: terminate, wait for `grace_s`, kill; no-op if ended."""
    signal(identity, signals.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace_s):
            return await exited(identity)
    signal(identity, signals.SIGKILL)
    async with asyncio.timeout(_KILLED_WITHIN_S):
        return await exited(identity)


def _open(identity: ProcessIdentity) -> int | None:
    """Open a pidfd that is certainly this run's; None if the run has ended."""
    try:
        pidfd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return None
    # Check after opening: if the pid is still this run's, so is the pidfd. An ending
    # run no longer has a program, but still has its pid and start time.
    try:
        found = identify(identity.pid)
        ending = found is None and _start(identity.pid) == identity.started
    except OSError:  # the pidfd was the last file that could be opened
        os.close(pidfd)
        raise
    if found != identity and not ending:
        os.close(pidfd)
        return None
    return pidfd


def _start(pid: int) -> str | None:
    try:
        return start_of(pid)
    except ABSENT:
        return None


async def _readable(pidfd: int) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(pidfd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(pidfd)


def _reap(identity: ProcessIdentity) -> None:
    """Reap an ended child; the first caller stores the exit code for all."""
    if _start(identity.pid) != identity.started:
        return
    try:
        found = os.waitid(os.P_PID, identity.pid, os.WEXITED | os.WNOHANG)
    except OSError:
        return
    if found is None:
        return
    by_itself = found.si_code == os.CLD_EXITED
    _codes[identity] = found.si_status if by_itself else -found.si_status
    while len(_codes) > _MAX_CODES:
        del _codes[next(iter(_codes))]
