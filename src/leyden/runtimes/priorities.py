"""Which lnd goes first where processors are short.

The platform and the gateway go before all nodes, and nodes that run before those that
start or wait to be unlocked: dozens may do so at once, and each attempt to unlock a
wallet takes most of a second of a processor, whoever makes it.

This holds everywhere, without root and from an lnd's first instruction. Control groups,
where there are any, hold nodes to their shares besides.
"""

import asyncio
from typing import Final

from leyden import processes
from leyden.domain.observations import State
from leyden.processes import Identity

STARTING: Final = 19
RUNNING: Final = 10
_RUNS: Final = frozenset({State.NON_EXISTING, State.RPC_ACTIVE, State.SERVER_ACTIVE})
# Without root, Linux changes the niceness of one session in a tenth of a second.
_AGAIN_S: Final = 0.15


class Priority:
    """The priority of one lnd, which follows from its state."""

    def __init__(self, running: Identity) -> None:
        self._running = running
        self._niceness: int | None = None

    def update(self, state: State | None) -> None:
        """Set the priority that an lnd in this state has; None is one just started."""
        niceness = RUNNING if state in _RUNS else STARTING
        if niceness != self._niceness:
            self._niceness = niceness
            self._set(niceness)

    def _set(self, niceness: int) -> None:
        if niceness != self._niceness or not processes.alive(self._running):
            return  # another one holds by now
        if not processes.set_niceness(self._running.pid, niceness):
            loop = asyncio.get_running_loop()
            loop.call_later(_AGAIN_S, self._set, niceness)
