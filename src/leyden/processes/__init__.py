"""Programs that outlive us: started apart, known again later, never mistaken.

Promises:
- A started program has a session of its own and files for its output; it lives on when
  we are killed. While we live we are its parent and learn its exit code.
- An Identity names one run of one program for ever: process ids are used again, so it
  holds the start time and the boot as well. Signals go through a pidfd that was checked
  against it: a stranger with the same pid never gets one.
- A claim is a file that a program holds locked for as long as it lives, with its pid in
  it. Starting a program whose claim is held starts nothing and gives the one that holds
  it; there is no moment, not even a kill -9 of ourselves half-way, at which a second
  one could start or the first be lost.

    lnd = await spawn(["/cache/lnd", "--lnddir=..."], log=log, claim=home / "claim")
    code = await exited(lnd)     # None: it was not our child, so nobody told us
    await stop(lnd, grace_s=30)  # does nothing when it has ended
    lnd = holder(home / "claim") # after a restart of ours: it, or None
"""

from leyden.processes.claims import holder, is_a_strangers
from leyden.processes.endings import exited, signal, stop
from leyden.processes.files import open_as_many_as_we_may, share
from leyden.processes.identity import (
    Identity,
    alive,
    command_line,
    figures,
    identify,
)
from leyden.processes.locks import alone
from leyden.processes.logs import cap
from leyden.processes.spawning import Limits, spawn

__all__ = [
    "Identity",
    "Limits",
    "alive",
    "alone",
    "cap",
    "command_line",
    "exited",
    "figures",
    "holder",
    "identify",
    "is_a_strangers",
    "open_as_many_as_we_may",
    "share",
    "signal",
    "spawn",
    "stop",
]
