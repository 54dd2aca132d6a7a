"""The priorities of lnds where CPUs are short.

The platform and the gateway come before all nodes, and running nodes before those that
start or wait to be unlocked: dozens may do so at once, and each attempt to unlock a
wallet, by anyone, takes most of a second of CPU time.

This works everywhere, without root and from an lnd's first instruction. Control groups,
if available, limit nodes to their shares as well.
"""

import asyncio
from typing import Final

from leyden.base import processes
from leyden.base.processes import ProcessIdentity
from leyden.nodes.rules.observations import LndState

STARTING: Final = 19
RUNNING: Final = 10
_RUNS: Final = frozenset(
    {LndState.NON_EXISTING, LndState.RPC_ACTIVE, LndState.SERVER_ACTIVE}
)
# Without root, Linux changes the niceness of one session in a tenth of a second.
_AGAIN_S: Final = 0.15


class Priority:
    """Sets the priority of one lnd by its state."""

    def __init__(self, running: ProcessIdentity) -> None:
        self._running = running
        self._niceness: int | None = None

    def update(self, state: LndState | None) -> None:
        """Set the priority for this state; None: the lnd was just started."""
        niceness = RUNNING if state in _RUNS else STARTING
        if niceness != self._niceness:
            self._niceness = niceness
            self._set(niceness)

    def _set(self, niceness: int) -> None:
        if niceness != self._niceness or self._is_set(niceness):
            return
        asyncio.get_running_loop().call_later(_AGAIN_S, self._set, niceness)

    def _is_set(self, niceness: int) -> bool:
        """Set the priority unless the lnd has ended; return False to try again."""
        try:
            return not processes.alive(self._running) or processes.set_niceness(
                self._running.pid, niceness
            )
        except OSError:  # too many open files
            return False
