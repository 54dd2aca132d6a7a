"""Claims: locked files that name the program that runs in a folder.

The lock (flock) belongs to the program through an inherited file, so it
ends with the program however that ends; the file contains its pid.
"""

import asyncio
import contextlib
import fcntl
import os
import time
from pathlib import Path

from leyden.base.processes.identity import ProcessIdentity, identify_after_exec
from leyden.errors import SetupError

# A claim is locked some milliseconds before the pid is written.
_NAMED_WITHIN_S = 5.0
_POLL_S = 0.002


def holder(claim: Path) -> ProcessIdentity | None:
    """Return the program that holds a claim; None if it is free."""
    try:
        file = os.open(claim, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    deadline = time.monotonic() + _NAMED_WITHIN_S
    try:
        while not _locked(file):
            if (found := _named(file)) is not None:
                return found
            _refuse_late(claim, deadline)
            time.sleep(_POLL_S)  # only while it is being started right now
    finally:
        os.close(file)
    return None


def held_by_unseen_program(claim: Path) -> bool:
    """Return whether a claim is held by a process that can't be identified from here.

    It may be in another container, or not have written its pid yet.
    """
    try:
        file = os.open(claim, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _locked(file) and _named(file) is None
    finally:
        os.close(file)


async def take(claim: Path) -> int | ProcessIdentity:
    """Lock the claim and return its file, emptied, or return its holder."""
    deadline = time.monotonic() + _NAMED_WITHIN_S
    while True:
        file = os.open(claim, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if _locked(file):
            if _is_at(claim, file):
                os.ftruncate(file, 0)
                return file
            os.close(file)  # its folder was moved away in between
            continue
        found = _named(file)
        os.close(file)
        if found is not None:
            return found
        _refuse_late(claim, deadline)
        await asyncio.sleep(_POLL_S)


def _is_at(claim: Path, file: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file), claim.stat())
    return False


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _named(file: int) -> ProcessIdentity | None:
    """Return the process whose pid is in the claim, if it truly has the claim open."""
    pid = os.pread(file, 32, 0).strip()
    if not pid.isdigit():
        return None
    # The pid may be from an earlier run, and belong to another process by now.
    return identify_after_exec(int(pid)) if _has_open(int(pid), file) else None


def _has_open(pid: int, file: int) -> bool:
    wanted = os.fstat(file)
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(link.stat(), wanted):
                    return True
    return False


def _refuse_late(claim: Path, deadline: float) -> None:
    if time.monotonic() > deadline:
        raise SetupError(
            f"{claim} is locked by an unknown process; `fuser {claim}` shows which"
        )
