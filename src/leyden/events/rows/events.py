"""The event log: what happened to an organization, in order and without gaps.

`add` collects events; `flush` writes them at the very end of the transaction. It locks
the log's row until the commit. So of two transactions of one organization, the second
gets its numbers after the first has committed, and a reader that has seen an event has
seen all events with smaller numbers. There are no deadlocks, because nothing is locked
after the logs, and logs are locked in the order of their ids.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from leyden.base.database.statements import BatchStep, Row, Run, SqlFile, Value
from leyden.base.rules.times import from_us, to_us
from leyden.events.rows.subscriptions import wake_step
from leyden.events.rules import cursors
from leyden.events.rules.cursors import Cursor
from leyden.events.rules.events import Event, StoredEvent
from leyden.values import Struct

sql = SqlFile(__file__)

NEWS: Final = "events "  # prefix of an organization's id, in notices
ALL_NEWS: Final = f"{NEWS}*"
# More ids would not fit into one notice of PostgreSQL's, of 8,000 bytes.
_MAX_NAMED: Final = 64
_encode = msgspec.json.Encoder().encode
_New = tuple[Event, int]  # the event, and its time


class EventPage(Struct, frozen=True):
    """A part of a log, from one moment."""

    first: int  # the oldest stored number
    last: int  # the newest number
    rows: list[Row]


class EventRows:
    """The rows of event and event_log."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._new: dict[str, list[_New]] = {}  # by organization

    @property
    def has_new(self) -> bool:
        """Whether there are added events that are not written yet."""
        return bool(self._new)

    def add(self, *events: Event, at: datetime) -> None:
        """Log these events, under the next numbers, when the transaction ends."""
        now = to_us(at)
        for event in events:
            self._new.setdefault(event.organization_id, []).append((event, now))

    async def flush(self) -> None:
        """Write the added events; the transaction calls this before its end."""
        new = self._new
        self._new = {}
        teams = tuple(sorted(new))
        await self._run.batch(
            [
                BatchStep(sql.number, [_numbers(team, new[team]) for team in teams]),
                BatchStep(sql.add, [_row(*each) for each in _numbered(teams, new)]),
                wake_step(teams, limit=max(map(len, new.values())), now=_earliest(new)),
            ]
        )
        for kind in _notices(teams):
            self._run.wake(kind)

    async def lock(self, organization_id: str, *, now: datetime) -> int:
        """Lock the log until the transaction ends; return its newest number.

        Call this last in a transaction: only `flush` may follow, and the tasks of
        subscriptions, which an event locks after its log.
        """
        created = to_us(now)
        rows = await self._run(
            sql.lock, organization_id=organization_id, created=created
        )
        return int(rows[0][0])

    async def page(
        self,
        organization_id: str,
        types: Collection[str],
        *,
        after: int,
        until: int,
        limit: int,
    ) -> EventPage:
        """Return a log, and its events of these types between two numbers.

        The events at both ends are included, whatever their type.
        """
        rows = await self._run(
            sql.page,
            organization_id=organization_id,
            types=tuple(sorted(types)),
            after=after,
            until=until,
            limit=limit,
        )
        if not rows:
            return EventPage(1, 0, [])
        first, last, *_ = rows[0]
        return EventPage(first, last, [row[2:] for row in rows if row[2] is not None])

    async def page_back(
        self,
        organization_id: str,
        types: Collection[str],
        *,
        start: int,
        before: int,
        limit: int,
    ) -> tuple[int, list[StoredEvent]]:
        """Return the oldest stored number, and the events since then, newest first."""
        rows = await self._run(
            sql.page_back,
            organization_id=organization_id,
            types=tuple(sorted(types)),
            from_=start,
            before=before,
            limit=limit,
        )
        first = int(rows[0][0]) if rows else 1
        return first, [event_of(row[1:]) for row in rows if row[1] is not None]

    async def last(self, organization_ids: Collection[str]) -> dict[str, Cursor]:
        """Return the last cursor of each of these logs, without empty ones."""
        rows = await self._run(sql.last, organization_ids=tuple(organization_ids))
        return {row[0]: Cursor(row[1], row[2]) for row in rows}

    async def logged_at(self, organization_id: str, once: str) -> datetime | None:
        """Return when the event with this `once` key was last logged; None if never."""
        rows = await self._run(
            sql.logged_at, organization_id=organization_id, once=once
        )
        return from_us(rows[0][0]) if rows else None

    async def with_old_events(self, *, before: datetime, limit: int) -> list[str]:
        """Return organizations whose logs have events from before this time."""
        rows = await self._run(sql.with_old_events, before=to_us(before), limit=limit)
        return [organization_id for (organization_id,) in rows]

    async def delete(
        self, organization_id: str, *, before: datetime, limit: int
    ) -> int:
        """Delete a log's oldest events from before then; return how many.

        The newest event is always kept: readers' cursors refer to it.
        """
        rows = await self._run(
            sql.oldest, organization_id=organization_id, limit=limit + 1
        )
        end = to_us(before)
        old = 0
        while old < len(rows) - 1 and rows[old][1] < end:
            old += 1
        first, created = rows[old]
        await self._run(sql.delete, organization_id=organization_id, first=first)
        await self._run(
            sql.forgotten,
            organization_id=organization_id,
            first=first,
            oldest=created,
        )
        return old


def _notices(organization_ids: Collection[str]) -> Iterable[str]:
    if len(organization_ids) > _MAX_NAMED:
        return [ALL_NEWS]
    return [f"{NEWS}{each}" for each in organization_ids]


def event_of(row: Row) -> StoredEvent:
    """Build the event from a row."""
    organization_id, number, tag, kind, created, _, data = row
    return StoredEvent(
        number=number,
        id=cursors.write(organization_id, number, tag),
        organization_id=organization_id,
        type=kind,
        created=from_us(created),
        data=msgspec.Raw(data.encode()),
    )


def _earliest(new: Mapping[str, Sequence[_New]]) -> int:
    return min(at for events in new.values() for _, at in events)


def _numbers(organization_id: str, new: Sequence[_New]) -> Mapping[str, Value]:
    return {
        "organization_id": organization_id,
        "many": len(new),
        "created": min(at for _, at in new),
    }


def _numbered(
    teams: Iterable[str], new: Mapping[str, Sequence[_New]]
) -> Iterator[tuple[str, _New, int, str]]:
    """Yield each event with its distance to the log's last number, and its digits."""
    for team in teams:
        back = len(new[team])
        for each, tag in zip(new[team], cursors.new_tags(back), strict=True):
            back -= 1
            yield team, each, back, tag


def _row(organization_id: str, new: _New, back: int, tag: str) -> Mapping[str, Value]:
    event, at = new
    return {
        "organization_id": organization_id,
        "back": back,
        "tag": tag,
        "type": event.type,
        "created": at,
        "once": event.once or None,
        "data": _encode(event.data).decode(),
    }
