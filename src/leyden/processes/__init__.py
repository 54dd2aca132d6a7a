"""Programs that outlive us: started apart and identified reliably later.

Promises:
- A started program has a session of its own and files for its output; it
  keeps running when we are killed. While we run we are its parent and
  learn its exit code.
- An Identity names one run of one program for ever: process ids are
  reused, so it holds the start time and the boot as well. Signals go
  through a pidfd that was checked against it: another process with the
  same pid never gets one.
- A claim is a file that a program holds locked for as long as it lives,
  with its pid in it. Starting a program whose claim is held starts nothing
  and returns the holder; there is no moment, not even a kill -9 of
  ourselves half-way, at which a second one could start or the first be
  lost.

    lnd = await spawn(["/cache/lnd", "--lnddir=..."], log=log, claim=home / "claim")
    code = await exited(lnd)     # None: it was not our child, so nobody told us
    await stop(lnd, grace_s=30)  # does nothing when it has ended
    lnd = holder(home / "claim") # after a restart of ours: it, or None
"""

from leyden.processes.claims import held_by_unseen_program, holder
from leyden.processes.endings import exited, signal, stop
from leyden.processes.files import most_files, raise_file_limit, share
from leyden.processes.identity import (
    Identity,
    alive,
    command_line,
    identify,
    stat_fields,
)
from leyden.processes.locks import locked
from leyden.processes.logs import cap
from leyden.processes.niceness import set_niceness
from leyden.processes.slices import ask_for_short_slices
from leyden.processes.spawning import Limits, spawn

__all__ = [
    "Identity",
    "Limits",
    "alive",
    "ask_for_short_slices",
    "cap",
    "command_line",
    "exited",
    "held_by_unseen_program",
    "holder",
    "identify",
    "locked",
    "most_files",
    "raise_file_limit",
    "set_niceness",
    "share",
    "signal",
    "spawn",
    "stat_fields",
    "stop",
]
