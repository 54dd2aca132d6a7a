"""What everybody may know: which parts of the platform work, and recent incidents.

It follows from the alarms alone. Their texts and subjects are not for everybody.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Final

import msgspec

from leyden.base.platform import Platform
from leyden.base.rules.alarms import PURSE, AlarmKind
from leyden.channels import sources
from leyden.errors import Away
from leyden.events import log
from leyden.events.rules.events import INSTALLATION, RAISED
from leyden.operators import oversight
from leyden.values import Struct

SHOWN_FOR: Final = timedelta(days=7)
_MAX_EVENTS: Final = 200


class Health(StrEnum):
    """How a part does."""

    UP = auto()
    LIMITED = auto()  # it works, but not for everybody, or not for long
    DOWN = auto()
    UNKNOWN = auto()


class ServicePart(StrEnum):
    """A part of the platform, as customers know it."""

    API = auto()
    GATEWAY = auto()
    CHAIN = auto()
    PAYMENTS = auto()
    TICKETS = auto()  # channels of the auction
    CHANNELS = auto()  # of the operator's own lnd


ALARMS: Final[Mapping[AlarmKind, tuple[ServicePart, Health]]] = {
    AlarmKind.GATEWAY_AWAY: (ServicePart.GATEWAY, Health.DOWN),
    AlarmKind.CHAIN_AWAY: (ServicePart.CHAIN, Health.DOWN),
    AlarmKind.TREASURY_AWAY: (ServicePart.PAYMENTS, Health.DOWN),
    AlarmKind.TREASURY_REPLACED: (ServicePart.PAYMENTS, Health.DOWN),
    AlarmKind.MARKET_AWAY: (ServicePart.TICKETS, Health.DOWN),
    AlarmKind.POOL_LOW: (ServicePart.TICKETS, Health.LIMITED),
    AlarmKind.SELLER_AWAY: (ServicePart.CHANNELS, Health.DOWN),
    AlarmKind.SELLER_LOW: (ServicePart.CHANNELS, Health.LIMITED),
}


class Incident(Struct, frozen=True, kw_only=True):
    """A time during which a part did not work as it should."""

    part: ServicePart
    health: Health
    began: datetime
    ended: datetime | None


class PublicStatus(Struct, frozen=True, kw_only=True):
    """The parts of the platform, and incidents, the newest first."""

    parts: dict[ServicePart, Health]
    incidents: list[Incident]
    at: datetime


async def read(platform: Platform) -> PublicStatus:
    """Return the status; with the API down if the database does not respond."""
    now = platform.clock()
    parts = dict.fromkeys(_parts(platform), Health.UNKNOWN)
    reader = platform.database.reader
    try:
        checked_at = await reader.alarms.checked_at()
        raised = [each for each in await reader.alarms.list_() if each.kind in ALARMS]
        past = await _past(platform, since=now - SHOWN_FOR)
    except Away:
        parts[ServicePart.API] = Health.DOWN
        return PublicStatus(parts=parts, incidents=[], at=now)
    present = [
        _incident(each.kind, each.subject, each.since, None)
        for each in sorted(raised, key=lambda each: each.since, reverse=True)
    ]
    parts[ServicePart.API] = Health.UP
    if not oversight.not_checked(checked_at, now=now):
        bad = {(each.part, each.health) for each in present}
        for part in parts:
            worst = (
                each for each in (Health.DOWN, Health.LIMITED) if (part, each) in bad
            )
            parts[part] = next(worst, Health.UP)
    return PublicStatus(parts=parts, incidents=[*present, *past], at=now)


def _parts(platform: Platform) -> list[ServicePart]:
    """Return the parts that this platform has."""
    found = [ServicePart.API]
    if platform.fleet is not None and platform.settings.gateway_here:
        found.append(ServicePart.GATEWAY)
    if platform.fleet is not None and platform.fleet.backends:
        found.append(ServicePart.CHAIN)
    if platform.channels is not None:
        found.append(ServicePart.PAYMENTS)
        if sources.sells_tickets(platform.channels):
            found.append(ServicePart.TICKETS)
        if sources.sells_direct(platform.channels):
            found.append(ServicePart.CHANNELS)
    return found


async def _past(platform: Platform, *, since: datetime) -> list[Incident]:
    """Return incidents that have ended since then, from the installation's log."""
    part = await log.read_back(
        platform.database.reader,
        INSTALLATION,
        frozenset(kind.value for kind in ALARMS),
        before=None,
        limit=_MAX_EVENTS,
    )
    found: list[Incident] = []
    ended: dict[tuple[str, str], datetime] = {}
    for event in part.events:  # the newest first: each end before its beginning
        data = msgspec.json.decode(event.data)
        alarm = event.type, data.get("subject", "")
        if data.get("status") != RAISED:
            ended[alarm] = event.created
        elif (end := ended.pop(alarm, None)) is not None and end >= since:
            found.append(_incident(*alarm, event.created, end))
    return found


def _incident(
    kind: str, subject: str, began: datetime, ended: datetime | None
) -> Incident:
    part, health = ALARMS[AlarmKind(kind)]
    if subject == PURSE:  # direct channels are sold on
        health = Health.LIMITED
    return Incident(part=part, health=health, began=began, ended=ended)
