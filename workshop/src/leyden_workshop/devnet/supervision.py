"""The supervision of a private chain's daemons."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from leyden.base import processes
from leyden.base.processes import daemons
from leyden.base.processes.daemons import Daemon, output
from leyden.errors import LeydenError

log = logging.getLogger(__name__)

# The longest that a daemon which ends again and again is left alone.
LAST_WAIT_S = 60.0
_LONG_ENOUGH_S = 60.0  # a run that lasted so long was a good one
_LOG_BYTES = 10 << 20
_LOOK_AT_LOGS_S = 60.0


class SupervisingKeeper(daemons.Keeper):
    """Supervises one daemon; a running one is found, not started twice."""

    def __init__(
        self,
        daemon: Daemon,
        *,
        first_wait_s: float = 1.0,
        last_wait_s: float = LAST_WAIT_S,
    ) -> None:
        super().__init__(daemon)
        self._first_wait_s = first_wait_s
        self._last_wait_s = last_wait_s

    async def keep(self) -> None:
        """Restart the daemon whenever it ends, with backoff for quick exits."""
        wait = self._first_wait_s
        while True:
            began = time.monotonic()
            try:
                code = await processes.exited(await self.ensure())
                reason = "" if code is None else f" (exit code {code})"
                said = f"{self.daemon.name} ended{reason}"
            except (LeydenError, OSError) as error:
                said = f"can't start {self.daemon.name}: {error}"
            if time.monotonic() - began > _LONG_ENOUGH_S:
                wait = self._first_wait_s
            log.warning(said, extra={"again_in_s": wait})
            await asyncio.sleep(wait)
            wait = min(2 * wait, self._last_wait_s)

    def cap_log(self) -> None:
        """Truncate the daemon's output file to its maximum size."""
        processes.cap(output(self.daemon.folder), max_bytes=_LOG_BYTES)


async def bring_up(keeper: SupervisingKeeper, say: Callable[[str], None]) -> None:
    """Start a daemon if needed; report whether it was running, and the time."""
    began = time.monotonic()
    found = keeper.running()
    now = await keeper.ensure()
    how = "runs" if now == found else "is up"
    say(f"{keeper.daemon.name} {how} ({time.monotonic() - began:.1f} s)")


async def bring_all_up(
    keepers: Sequence[SupervisingKeeper], say: Callable[[str], None]
) -> None:
    """Start independent daemons in parallel; stop at the first failure."""
    try:
        async with asyncio.TaskGroup() as group:
            for keeper in keepers:
                group.create_task(bring_up(keeper, say))
    except ExceptionGroup as troubles:
        raise troubles.exceptions[0] from None


async def keep_logs_small(keepers: Sequence[SupervisingKeeper]) -> None:
    """Truncate daemons' output files regularly, until cancelled."""
    while True:
        for keeper in keepers:
            keeper.cap_log()
        await asyncio.sleep(_LOOK_AT_LOGS_S)
