"""Report alarms as metrics, as events and in the log, without a visit to a page."""

import asyncio
import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import Gauge

from leyden.domain.alarms import Kind
from leyden.domain.events import CLEARED, INSTALLATION, RAISED, Event
from leyden.errors import Away
from leyden.services.operators.alarms import Alarm, list_alarms
from leyden.services.operators.oversight import violations
from leyden.services.platform import Platform
from leyden.services.shared.steps import ClaimedTask
from leyden.storage.stores import Stores

ALARMS: Final = "alarms"  # a kind of task
_ALARM: Final = Gauge(
    "leyden_alarm", "1 while an operator has to look after this.", ["alarm"]
)
_CHECK_EVERY_S: Final = 60.0
# Verifying reads all entries of the ledger, which would slow down every restart.
_FIRST_VERIFICATION: Final = timedelta(hours=1)
_VERIFY_EVERY: Final = timedelta(days=1)
_VERIFY_AGAIN: Final = timedelta(hours=1)  # after one that could not be finished

log = logging.getLogger(__name__)


class AlarmWatch:
    """Checks the alarms in every process; one process logs them as events."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._broken: list[Alarm] = []  # found by the last verification
        self._verify_at = platform.clock() + _FIRST_VERIFICATION
        self.found: frozenset[Alarm] | None = None  # None: not checked yet

    async def watch(self) -> None:
        """Check alarms every minute, and the ledger once a day, until cancelled."""
        while True:
            # Sleep first: what the alarms check may still be starting.
            await asyncio.sleep(_CHECK_EVERY_S)
            try:
                await self.check()
            except Away as error:
                log.info("could not check alarms", extra={"why": error.message})
            except Exception:
                log.exception("could not check alarms")

    async def check(self) -> None:
        """Check the alarms once, and the ledger if it is due."""
        platform = self._platform
        if platform.clock() >= self._verify_at:
            self._verify_at = platform.clock() + _VERIFY_AGAIN
            self._broken = await ledger_alarms(platform)
            self._verify_at = platform.clock() + _VERIFY_EVERY
        self.found = await check(platform, self.found or (), self._broken)

    async def follow(self, work: ClaimedTask) -> None:
        """Log raised and cleared alarms as events, while this process has the task.

        It is always the same process as long as it runs, as disk space is checked on
        the process's own machine.
        """
        while True:
            if self.found is not None:
                async with work.transaction() as tx:
                    await log_changes(tx, self.found, now=self._platform.clock())
            await asyncio.sleep(_CHECK_EVERY_S)


async def log_changes(tx: Stores, found: Collection[Alarm], *, now: datetime) -> None:
    """Log an event for each kind of alarm that was raised or cleared, once."""
    present: dict[str, list[str]] = {}
    for each in sorted(found, key=str):
        present.setdefault(each.kind.value, []).append(each.what)
    before = await tx.alarms.list_()
    for kind in sorted(present.keys() - set(before)):
        if await tx.alarms.add(kind, now=now):
            tx.events.add(_event(kind, RAISED, "; ".join(present[kind])), at=now)
    for kind in before:
        if kind not in present and await tx.alarms.remove(kind):
            tx.events.add(_event(kind, CLEARED, ""), at=now)


def _event(kind: str, status: str, what: str) -> Event:
    data = {"status": status, "what": what}
    return Event(organization_id=INSTALLATION, type=kind, data=data)


async def ledger_alarms(platform: Platform) -> list[Alarm]:
    """Verify the ledger; return an alarm for each violation."""
    broken = await violations(platform)
    return [Alarm(Kind.LEDGER_BROKEN, str(each)) for each in broken]


async def check(
    platform: Platform,
    raised: Collection[Alarm] = (),
    broken: Collection[Alarm] = (),
) -> frozenset[Alarm]:
    """Return the alarms; set the metrics, and log what changed since `raised`."""
    found = [*broken, *await list_alarms(platform, now=platform.clock())]
    kinds = {each.kind for each in found}
    for kind in Kind:
        _ALARM.labels(kind.value).set(kind in kinds)
    for each in found:
        if each.kind not in {before.kind for before in raised}:
            log.warning("alarm", extra={"alarm": each.kind.value, "what": each.what})
    for kind in sorted({before.kind for before in raised} - kinds):
        log.info("alarm cleared", extra={"alarm": kind.value})
    return frozenset(found)
