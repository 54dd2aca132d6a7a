"""Alarms as metrics and in the log, for operators who do not look at pages."""

import asyncio
import logging
from collections.abc import Collection
from datetime import timedelta
from typing import Final

from prometheus_client import Gauge

from leyden.errors import Away
from leyden.services.operators.alarms import Alarm, Kind, list_alarms
from leyden.services.operators.oversight import proven
from leyden.services.platform import Platform

_ALARM: Final = Gauge(
    "leyden_alarm", "1 while an operator has to look after this.", ["alarm"]
)
_LOOK_EVERY_S: Final = 60.0
# All entries are read: not at a start, which may be one of many.
_FIRST_PROOF: Final = timedelta(hours=1)
_PROVE_EVERY: Final = timedelta(days=1)

log = logging.getLogger(__name__)


async def watch(platform: Platform) -> None:
    """Look every minute, and verify the ledger once a day, until cancelled."""
    raised: frozenset[Alarm] = frozenset()
    broken: list[Alarm] = []
    prove_at = platform.clock() + _FIRST_PROOF
    while True:
        await asyncio.sleep(_LOOK_EVERY_S)  # at a start others may be starting too
        try:
            if platform.clock() >= prove_at:
                prove_at = platform.clock() + _PROVE_EVERY
                broken = await prove(platform)
            raised = await look(platform, raised, broken)
        except Away as error:
            log.info("alarms were not looked at", extra={"why": error.message})
        except Exception:
            log.exception("alarms were not looked at")


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
        log.info("alarm is over", extra={"alarm": kind.value})
    return frozenset(found)
