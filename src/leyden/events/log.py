"""Reading an organization's event log by cursor, and pruning it."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from leyden.base.database.database import Database
from leyden.base.database.stores import Stores
from leyden.base.http import turns
from leyden.base.rules.times import Clock, to_iso
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import Expired, Malformed
from leyden.events.rows.events import EventPage, event_of
from leyden.events.rules import cursors
from leyden.events.rules.cursors import Cursor
from leyden.events.rules.events import StoredEvent
from leyden.schemas.events import LoggedEvent, facts
from leyden.values import Struct, field

FORGETTING: Final = "forget events"  # a kind of task
_FORGET_EVERY: Final = timedelta(hours=1)
_FORGOTTEN_AT_ONCE: Final = 500
_LOGS_AT_ONCE: Final = 50
# The most events read at once to find those of some types: a third of a millisecond.
_WINDOW: Final = 500
# After so many windows the caller continues with another request.
_WINDOWS: Final = 20
encode = msgspec.json.Encoder().encode


class EventFilter(Struct, frozen=True, kw_only=True):
    """Which events of some types are wanted; by default all."""

    ids: Mapping[str, str] = field(default_factory=dict)  # by their names in `data`
    since: datetime | None = None
    until: datetime | None = None  # without those logged at this time

    def matches(self, event: StoredEvent) -> bool:
        """Return whether the event is wanted."""
        if self.since is not None and event.created < self.since:
            return False
        if self.until is not None and event.created >= self.until:
            return False
        return not self.ids or self.ids.items() <= facts(event.data).items()


ALL: Final = EventFilter()


class LogPart(Struct, frozen=True, kw_only=True):
    """Some events, the cursor after them, and whether there are more at once."""

    events: list[StoredEvent]
    cursor: Cursor
    has_more: bool


def item(event: StoredEvent) -> LoggedEvent:
    """Return an event as readers and subscriptions get it."""
    return LoggedEvent(
        id=event.id,
        type=event.type,
        created=to_iso(event.created),
        organization_id=event.organization_id,
        data=facts(event.data),
    )


async def end(reader: Stores, organization_id: str) -> Cursor:
    """Return the cursor at the end of a log."""
    found = await reader.events.last([organization_id])
    return found.get(organization_id, cursors.START)


async def end_without(
    reader: Stores, organization_id: str, types: Collection[str], *, after: int
) -> int | None:
    """Return the number of the newest event; None if one of these types is waiting."""
    cursor = Cursor(after, "")
    while True:
        part = await read(reader, organization_id, types, after=cursor, limit=1)
        if part.events:
            return None
        cursor = Cursor(part.cursor.number, "")
        if not part.has_more:
            return cursor.number


async def read(
    reader: Stores,
    organization_id: str,
    types: Collection[str],
    *,
    after: Cursor | None,
    limit: int,
    wanted: EventFilter = ALL,
) -> LogPart:
    """Return the next events of these types that are wanted, oldest first.

    Without a cursor, and after one without a tag of which later events are kept no
    more, it begins with the oldest that is kept. Else raise Expired there, and
    Malformed for a cursor that is not in the log. A part may be empty while there is
    more: it was a long way.
    """
    start = after
    # With both ends, by which cursors are known. A filter looks at the whole window.
    rows = (limit if wanted == ALL else _WINDOW) + 2
    for _ in range(_WINDOWS):
        begin = start or cursors.START
        page = await reader.events.page(
            organization_id,
            types,
            after=begin.number,
            until=begin.number + _WINDOW,
            limit=rows,
        )
        if (start is None or not start.tag) and page.first > begin.number + 1:
            start = Cursor(page.first - 1, "")  # of an event that is gone
            continue
        if begin.tag:
            _check(page, begin)
        part = _part(page, begin, types, wanted, limit=limit, rows=rows)
        if part.events or not part.has_more:
            return part
        start = part.cursor
        await turns.take(organization_id)
    return LogPart(events=[], cursor=start or cursors.START, has_more=True)


async def read_back(
    reader: Stores,
    organization_id: str,
    types: Collection[str],
    *,
    before: Cursor | None,
    limit: int,
) -> LogPart:
    """Return events of these types before a cursor, or the newest, newest first.

    The cursor returned leads further back, as far as there is more.
    """
    if before is None:
        newest = await end(reader, organization_id)
        before = Cursor(newest.number + 1, newest.tag)
    found: list[StoredEvent] = []
    for _ in range(_WINDOWS):
        start = max(1, before.number - _WINDOW)
        first, more = await reader.events.page_back(
            organization_id, types, start=start, before=before.number, limit=limit + 1
        )
        found += more
        if len(found) > limit:
            last = found[limit - 1]
            cursor = cursors.parse(organization_id, last.id)
            return LogPart(events=found[:limit], cursor=cursor, has_more=True)
        before = Cursor(start, before.tag)
        if start <= first:
            return LogPart(events=found, cursor=before, has_more=False)
        await turns.take(organization_id)
    return LogPart(events=found, cursor=before, has_more=True)


def _part(
    page: EventPage,
    after: Cursor,
    types: Collection[str],
    wanted: EventFilter,
    *,
    limit: int,
    rows: int,
) -> LogPart:
    found = [event_of(row) for row in page.rows]
    tags = {row[1]: row[2] for row in page.rows}
    newer = [each for each in found if each.number > after.number]
    kept = [each for each in newer if each.type in types and wanted.matches(each)]
    if len(kept) > limit or (kept and len(page.rows) == rows):
        last = kept[:limit][-1].number
        return LogPart(
            events=kept[:limit], cursor=Cursor(last, tags[last]), has_more=True
        )
    if not newer:
        return LogPart(events=[], cursor=after, has_more=False)
    last = newer[-1].number
    return LogPart(
        events=kept, cursor=Cursor(last, tags[last]), has_more=last < page.last
    )


def _check(page: EventPage, after: Cursor) -> None:
    """Raise if the cursor is not a place in the log from which nothing is missing."""
    if after.number > page.last:
        raise Malformed(
            "after: no event has this cursor yet; use the cursor of the last response"
        )
    if after.number < page.first - 1:
        raise Expired
    known = {row[1]: row[2] for row in page.rows}.get(after.number)
    if known is not None and known != after.tag:
        raise Malformed(
            "after: this cursor is not in the event log, which may have been restored "
            "from a backup; start again without it"
        )


async def prune(
    database: Database, due: ClaimedTask, *, keep_for: timedelta, clock: Clock
) -> None:
    """Delete events that are past retention; the newest of each log stays."""
    now = clock()
    before = now - keep_for
    aged = await database.reader.events.with_old_events(
        before=before, limit=_LOGS_AT_ONCE
    )
    full = len(aged) == _LOGS_AT_ONCE
    for organization_id in aged:
        async with due.transaction() as tx:
            forgotten = await tx.events.delete(
                organization_id, before=before, limit=_FORGOTTEN_AT_ONCE
            )
        full = full or forgotten == _FORGOTTEN_AT_ONCE
    async with due.transaction() as tx:
        await due.reschedule(tx, due=now if full else now + _FORGET_EVERY)
