"""Report alarms as metrics, as events and in the log, without a visit to a page."""

import asyncio
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import Gauge

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.alarms import AlarmKind
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import Away
from leyden.events.rules.events import CLEARED, INSTALLATION, RAISED, Event
from leyden.operators.alarms import Alarm, list_alarms
from leyden.operators.attention import AttentionReason, needing_attention
from leyden.operators.oversight import violations
from leyden.operators.rows.alarms import RaisedAlarm

ALARMS: Final = "alarms"  # a kind of task
_ALARM: Final = Gauge(
    "leyden_alarm",
    "Alarms that an operator has to look after.",
    ["alarm"],
)
_ORDERS: Final = Gauge(
    "leyden_orders_needing_attention",
    "Orders that `leyden orders list --needs-attention` lists, by reason.",
    ["reason"],
)
_CHECK_EVERY_S: Final = 60.0
_START_LATER: Final = (
    AlarmKind.TREASURY_AWAY,
    AlarmKind.SELLER_AWAY,
    AlarmKind.SELLER_UNREACHABLE,
    AlarmKind.MARKET_AWAY,
    AlarmKind.GATEWAY_AWAY,
    AlarmKind.CHAIN_AWAY,
)
_STARTS_WITHIN: Final = timedelta(minutes=30)
# Verifying reads all entries of the ledger, which would slow down every restart.
_FIRST_VERIFICATION: Final = timedelta(hours=1)
_VERIFY_EVERY: Final = timedelta(days=1)
_VERIFY_AGAIN: Final = timedelta(hours=1)  # after one that could not be finished

# Many alarms of a kind share an event, so that nobody is flooded: an hour has this many
# events about single alarms of a kind, and further ones wait for the next shared event.
ANNOUNCED_SINGLY: Final = 20
_SINGLY_WITHIN: Final = timedelta(hours=1)
_SHARED_EVERY: Final = timedelta(minutes=10)
_NAMED_TOGETHER: Final = 5

log = logging.getLogger(__name__)


class Announced:
    """When this process announced alarms of each kind, to announce no flood of them."""

    def __init__(self) -> None:
        self._singly: defaultdict[str, deque[datetime]] = defaultdict(deque)
        self._shared: dict[str, datetime] = {}

    def room(self, kind: str, *, now: datetime) -> int:
        """Return how many more alarms of a kind get an event of their own."""
        times = self._singly[kind]
        while times and times[0] <= now - _SINGLY_WITHIN:
            times.popleft()
        return ANNOUNCED_SINGLY - len(times)

    def count(self, kind: str, number: int, *, now: datetime) -> None:
        """Count events about single alarms."""
        self._singly[kind].extend([now] * number)

    def share(self, kind: str, *, now: datetime) -> bool:
        """Return whether alarms of a kind may share an event now, and count it."""
        last = self._shared.get(kind)
        if last is not None and now < last + _SHARED_EVERY:
            return False
        self._shared[kind] = now
        return True


class AlarmWatch:
    """Checks the alarms in every process; one process logs them as events."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        # Found by the last verification; None: not verified since the start.
        self._broken: list[Alarm] | None = None
        self._announced = Announced()
        self._verify_at = platform.clock() + _FIRST_VERIFICATION
        self.found: frozenset[Alarm] | None = None  # None: not checked yet
        self.checked_at: datetime | None = None
        self._checked = asyncio.Event()
        # `up` starts what a private chain needs beside us, and builds it at first.
        private = platform.settings.has_private_chain
        self._starting = set(_START_LATER if private else ())
        self._started_by = platform.clock() + _STARTS_WITHIN

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
        if self._broken is None:
            self._broken = await _broken_before(platform)
        now = platform.clock()
        if now >= self._started_by:
            self._starting.clear()
        self.found = await check(
            platform, self.found or (), self._broken, self._starting
        )
        self.checked_at = now
        self._checked.set()

    async def follow(self, work: ClaimedTask) -> None:
        """Log raised and cleared alarms as events, while this process has the task.

        It is always the same process as long as it runs, as disk space is checked on
        the process's own machine.
        """
        while True:
            if self.found is not None:
                async with work.transaction() as tx:
                    await self.record(tx)
            await self._checked.wait()
            self._checked.clear()

    async def record(self, tx: Stores) -> None:
        """Log what the last check changed, and store when it was."""
        now = self._platform.clock()
        await log_changes(tx, self.found or (), now=now, announced=self._announced)
        await tx.findings.delete(now=now)
        if self.checked_at is not None:
            await tx.alarms.keep_check(self.checked_at)


async def log_changes(
    tx: Stores,
    found: Collection[Alarm],
    *,
    now: datetime,
    announced: Announced | None = None,
) -> None:
    """Log an event for each alarm that was raised or cleared, once.

    If `announced` says that there were many of a kind, they share an event.
    """
    announced = announced or Announced()
    present = {each.key: each for each in sorted(found, key=str)}
    before = {each.key: each for each in await tx.alarms.list_()}
    for key in present.keys() & before.keys():
        if before[key].what != present[key].what:
            await tx.alarms.describe(before[key], present[key].what)
    changes: defaultdict[str, list[tuple[str, RaisedAlarm]]] = defaultdict(list)
    for key, each in present.items():
        if key not in before:
            changes[each.kind.value].append((RAISED, _raised(each, now)))
    for key, raised in before.items():
        if key not in present:
            changes[raised.kind].append((CLEARED, raised))
    for kind, of_kind in sorted(changes.items()):
        await _announce(tx, kind, of_kind, now=now, announced=announced)


async def _announce(
    tx: Stores,
    kind: str,
    changes: Sequence[tuple[str, RaisedAlarm]],
    *,
    now: datetime,
    announced: Announced,
) -> None:
    """Log these changes of one kind, as far as there is room; store what is logged."""
    room = announced.room(kind, now=now)
    single, many = changes[:room], changes[room:]
    for status, alarm in single:
        if await _store(tx, status, alarm):
            tx.events.add(_event(kind, status, alarm.what, alarm.subject), at=now)
    announced.count(kind, len(single), now=now)
    if not many or not announced.share(kind, now=now):
        return  # they wait for a later check
    for wanted in (RAISED, CLEARED):
        stored = [
            alarm
            for status, alarm in many
            if status == wanted and await _store(tx, status, alarm)
        ]
        if stored:
            tx.events.add(_event(kind, wanted, _together(stored)), at=now)


async def _store(tx: Stores, status: str, alarm: RaisedAlarm) -> bool:
    """Store the change; return False if another process did."""
    if status == RAISED:
        return await tx.alarms.add(alarm)
    return await tx.alarms.remove(alarm)


def _raised(alarm: Alarm, now: datetime) -> RaisedAlarm:
    kind, subject, reason = alarm.key
    return RaisedAlarm(
        kind=kind, subject=subject, reason=reason, what=alarm.what, since=now
    )


def _together(alarms: Sequence[RaisedAlarm]) -> str:
    named = "; ".join(each.what for each in alarms[:_NAMED_TOGETHER])
    more = len(alarms) - _NAMED_TOGETHER
    return f"{named}; and {more:,} more: `leyden overview`" if more > 0 else named


def _event(kind: str, status: str, what: str, subject: str = "") -> Event:
    data = {"status": status, "what": what, "subject": subject}
    return Event(organization_id=INSTALLATION, type=kind, data=data)


async def ledger_alarms(platform: Platform) -> list[Alarm]:
    """Verify the ledger; return an alarm for each violation."""
    broken = await violations(platform)
    return [
        Alarm(AlarmKind.LEDGER_BROKEN, str(each), each.rule, each.where)
        for each in broken
    ]


async def _broken_before(platform: Platform) -> list[Alarm]:
    """Return what the last verification found, before this process started."""
    return [
        Alarm(AlarmKind.LEDGER_BROKEN, each.what, each.subject, each.reason)
        for each in await platform.database.reader.alarms.list_()
        if each.kind == AlarmKind.LEDGER_BROKEN
    ]


async def check(
    platform: Platform,
    raised: Collection[Alarm] = (),
    broken: Collection[Alarm] = (),
    starting: set[AlarmKind] | None = None,
) -> frozenset[Alarm]:
    """Return the alarms; set the metrics, and log what changed since `raised`.

    Those in `starting` are no alarms before they were away from the list once.
    """
    now = platform.clock()
    orders = await needing_attention(platform, now=now)
    found = [*broken, *await list_alarms(platform, now=now, orders=orders)]
    if starting:
        starting &= {each.kind for each in found}
        found = [each for each in found if each.kind not in starting]
    kinds = Counter(each.kind for each in found)
    for kind in AlarmKind:
        _ALARM.labels(kind.value).set(kinds[kind])
    reasons = Counter(each.reason for each in orders)
    for reason in AttentionReason:
        _ORDERS.labels(reason.value).set(reasons[reason])
    before, after = ({each.key for each in some} for some in (raised, found))
    for each in found:
        if each.key not in before:
            log.warning("alarm", extra=_logged(each))
    for each in sorted(raised, key=str):
        if each.key not in after:
            log.info("alarm cleared", extra=_logged(each))
    return frozenset(found)


def _logged(alarm: Alarm) -> dict[str, str]:
    return {"alarm": alarm.kind.value, "what": alarm.what}
