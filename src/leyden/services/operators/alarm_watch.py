"""Alarms as metrics, as events and in the log, for operators who look at no pages."""

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
from leyden.services.operators.oversight import proven
from leyden.services.platform import Platform
from leyden.services.shared.steps import ClaimedTask
from leyden.storage.stores import Stores

ALARMS: Final = "alarms"  # a kind of task
_ALARM: Final = Gauge(
    "leyden_alarm", "1 while an operator has to look after this.", ["alarm"]
)
_LOOK_EVERY_S: Final = 60.0
# All entries are read: not at a start, which may be one of many.
_FIRST_PROOF: Final = timedelta(hours=1)
_PROVE_EVERY: Final = timedelta(days=1)

log = logging.getLogger(__name__)


class AlarmWatch:
    """What this process finds, as metrics, and as events if the task is ours."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self.found: frozenset[Alarm] | None = None  # nobody has looked yet

    async def watch(self) -> None:
        """Look every minute, and verify the ledger once a day, until cancelled."""
        broken: list[Alarm] = []
        platform = self._platform
        prove_at = platform.clock() + _FIRST_PROOF
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)  # at a start others may be starting too
            try:
                if platform.clock() >= prove_at:
                    prove_at = platform.clock() + _PROVE_EVERY
                    broken = await prove(platform)
                self.found = await look(platform, self.found or (), broken)
            except Away as error:
                log.info("could not check alarms", extra={"why": error.message})
            except Exception:
                log.exception("could not check alarms")

    async def follow(self, work: ClaimedTask) -> None:
        """Log as events what begins and ends, for as long as the task is ours.

        One process does, and the same one: what is nearly full is its own disk.
        """
        while True:
            if self.found is not None:
                async with work.transaction() as tx:
                    await tell(tx, self.found, now=self._platform.clock())
            await asyncio.sleep(_LOOK_EVERY_S)


async def tell(tx: Stores, found: Collection[Alarm], *, now: datetime) -> None:
    """Log each kind that began, and each that is over, once."""
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


async def prove(platform: Platform) -> list[Alarm]:
    """Verify the ledger; return an alarm for each rule that does not hold."""
    return [Alarm(Kind.LEDGER_BROKEN, str(each)) for each in await proven(platform)]


async def look(
    platform: Platform,
    raised: Collection[Alarm] = (),
    broken: Collection[Alarm] = (),
) -> frozenset[Alarm]:
    """Set the metrics, log what is new since `raised` or over; return the alarms."""
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
