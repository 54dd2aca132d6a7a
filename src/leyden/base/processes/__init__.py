"""Start programs that outlive us, and identify them reliably later.

Guarantees:
- A started program has a session of its own and files for its output; it
  keeps running when we are killed. While we run we are its parent and
  learn its exit code.
- An Identity names one run of one program forever: process ids are reused,
  so it also has the start time and the boot. Signals go through a pidfd that
  was checked against it: another process with the same pid never gets one.
- A claim is a file that a program keeps locked as long as it runs, with its
  pid in it. Starting a program whose claim is locked starts nothing and
  returns the holder. At no moment, even if we are killed half-way, can a
  second one start or the first be lost.

    lnd = await spawn(["/cache/lnd", "--lnddir=..."], log=log, claim=home / "claim")
    code = await exited(lnd)     # None: unknown, as it was not our child
    await stop(lnd, grace_s=30)  # does nothing when it has ended
    lnd = holder(home / "claim") # after we restart: the same lnd, or None
"""

from leyden.base.processes.claims import held_by_unseen_program, holder
from leyden.base.processes.endings import exited, signal, stop
from leyden.base.processes.files import (
    cap,
    locked,
    open_file_limit,
    raise_file_limit,
    share,
)
from leyden.base.processes.identity import (
    ProcessIdentity,
    alive,
    command_line,
    identify,
    stat_fields,
)
from leyden.base.processes.spawning import ResourceLimits, set_niceness, spawn

__all__ = [
    "ProcessIdentity",
    "ResourceLimits",
    "alive",
    "cap",
    "command_line",
    "exited",
    "held_by_unseen_program",
    "holder",
    "identify",
    "locked",
    "open_file_limit",
    "raise_file_limit",
    "set_niceness",
    "share",
    "signal",
    "spawn",
    "stat_fields",
    "stop",
]
