"""The outcome of each attempt to deliver a webhook."""

from datetime import datetime, timedelta

from leyden.domain.deliveries import Answer, Verdict
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound
from leyden.storage.statements import Row, Run, SqlFile
from leyden.storage.webhooks import KeptEvent, Webhooks
from leyden.values import Struct

sql = SqlFile("deliveries")

_MICROSECOND = timedelta(microseconds=1)


class Attempt(Struct, frozen=True, kw_only=True):
    """An attempt and its outcome."""

    event_id: str
    number: int
    at: datetime
    answer: Answer


class Delivery(Struct, frozen=True, kw_only=True):
    """An event with all its attempts."""

    event: KeptEvent
    attempts: list[Attempt]


class Deliveries:
    """The rows of webhook_attempt, beside those of webhook_event."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(
        self, event_id: str, answer: Answer, verdict: Verdict, *, at: datetime
    ) -> None:
        """Store the outcome of an attempt, and the event's new state."""
        rows = await self._run(
            sql.settle,
            event_id=event_id,
            state=verdict.state,
            due=to_us(verdict.due),
            overtakable=int(verdict.overtakable),
        )
        if not rows:
            raise NotFound
        await self._run(
            sql.add,
            event_id=event_id,
            number=rows[0][0],
            at=to_us(at),
            took=answer.took // _MICROSECOND,
            status=answer.status,
            excerpt=answer.excerpt,
            error=answer.error,
        )

    async def list_(
        self, node_id: str, *, before: int | None, most: int
    ) -> list[Delivery]:
        """Return a node's events before this position, newest first."""
        events = await Webhooks(self._run).page(node_id, before=before, most=most)
        page = {event.id: Delivery(event=event, attempts=[]) for event in events}
        if events:
            for row in await self._run(
                sql.list_attempts,
                node_id=node_id,
                first=events[-1].position,
                last=events[0].position,
            ):
                attempt = attempt_of(row)
                page[attempt.event_id].attempts.append(attempt)
        return list(page.values())

    async def prune(self, *, before: datetime, most: int) -> int:
        """Delete the oldest events before then, with attempts; return how many."""
        return len(await self._run(sql.prune, before=to_us(before), most=most))


def attempt_of(row: Row) -> Attempt:
    """Build the attempt from a row."""
    event_id, number, at, took, status, excerpt, error = row
    return Attempt(
        event_id=event_id,
        number=number,
        at=from_us(at),
        answer=Answer(
            status=status,
            excerpt=excerpt,
            error=error,
            took=timedelta(microseconds=took),
        ),
    )
