"""The shell code that runs between our fork and the program.

The child writes its own pid, before it becomes the program: if we wrote it
after the fork and were killed in between, the program would be unknown.
Limits are set here too, because our own code between fork and exec could
deadlock on a lock that another thread held.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from leyden.base.processes.absence import ABSENT
from leyden.values import Struct

_SHELL = "/bin/sh"
# Changes the user. If Python did that, it would need a full fork: 2 ms of CPU time, and
# 18 ms on a busy machine, instead of 0.1 ms.
_SETPRIV = shutil.which("setpriv", path="/usr/bin:/bin:/usr/sbin:/sbin")
# $1 is the limits, the rest the program; stdout is the claim until the exec.
_SCRIPT = (
    'set -e; for limit in $1; do ulimit "-${limit%=*}" "${limit#*=}"; done; shift; '
    'echo $$; exec "$@" >&2'
)


class ResourceLimits(Struct, frozen=True, kw_only=True):
    """The program's resource limits; None leaves a limit as it is."""

    open_files: int | None = None
    address_space: int | None = None  # bytes
    data: int | None = None  # bytes
    core: int | None = 0  # a core dump contains the wallet

    def words(self) -> str:
        """Return the limits as arguments of ulimit: letters; memory in KiB."""
        values = {
            "n": self.open_files,
            "c": self.core,
            "v": self.address_space and self.address_space // 1024,
            "d": self.data and self.data // 1024,
        }
        return " ".join(f"{k}={v}" for k, v in values.items() if v is not None)


def through_shell(argv: Sequence[str], limits: ResourceLimits) -> list[str]:
    """Return the command that sets limits, writes its pid and becomes the program."""
    return [_SHELL, "-c", _SCRIPT, "sh", limits.words(), *argv]


def can_change_user() -> bool:
    """Return whether this machine has the program that `as_user` needs."""
    return _SETPRIV is not None


def as_user(argv: Sequence[str], uid: int, gid: int) -> list[str]:
    """Return the command that runs the program as that user, irrevocably."""
    who = [f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs"]
    return [_SETPRIV or "setpriv", *who, "--", *argv]


def with_death_signal(argv: Sequence[str | Path]) -> list[str | Path]:
    """Return the command whose program is told to end when this process dies.

    Where setpriv is not installed, the program goes on without us.
    """
    ending = [] if _SETPRIV is None else [_SETPRIV, "--pdeathsig=TERM", "--"]
    return [*ending, *argv]


def still_shell(pid: int) -> bool:
    """Return whether a process is still the shell, not yet the program."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        if not line:  # the kernel is just replacing the program, or it is a zombie
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2]
            return not fields.startswith((b" Z", b" X"))
    except ABSENT:
        return False
    words = line.split(b"\0")
    if _SETPRIV is not None and words[0] == _SETPRIV.encode():
        return words[4:6] == [b"--no-new-privs", b"--"]
    return words[:3] == [_SHELL.encode(), b"-c", _SCRIPT.encode()]
