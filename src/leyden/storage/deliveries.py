"""How each attempt to deliver a webhook went."""

from datetime import datetime, timedelta

from leyden.domain.deliveries import Answer, Verdict
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound
from leyden.storage.statements import Row, Run
from leyden.storage.webhooks import KeptEvent, read_event
from leyden.storage.written import deliveries as sql
from leyden.values import Struct

_MICROSECOND = timedelta(microseconds=1)


class Attempt(Struct, frozen=True, kw_only=True):
    """One attempt, and what came of it."""

    event_id: str
    number: int
    at: datetime
    answer: Answer


class Delivery(Struct, frozen=True, kw_only=True):
    """An event with all attempts at it."""

    event: KeptEvent
    attempts: list[Attempt]


class Deliveries:
    """The rows of webhook_attempt, beside those of webhook_event."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(
        self, event_id: str, answer: Answer, verdict: Verdict, *, at: datetime
    ) -> None:
        """Keep how an attempt went, and what it made of the event."""
        rows = await self._run(
            sql.SETTLE,
            event_id=event_id,
            becomes=verdict.state,
            next_due=to_us(verdict.due),
            may_be_overtaken=int(verdict.overtakable),
        )
        if not rows:
            raise NotFound
        await self._run(
            sql.ADD,
            event_id=event_id,
            number=rows[0][0],
            at=to_us(at),
            took=answer.took // _MICROSECOND,
            status=answer.status,
            excerpt=answer.excerpt,
            error=answer.error,
        )

    async def list_(self, node_id: str, *, before: int, most: int) -> list[Delivery]:
        """Give a node's events from before this position, newest first."""
        rows = await self._run(sql.LIST, node_id=node_id, before=before, most=most)
        page = {
            event.id: Delivery(event=event, attempts=[])
            for event in map(read_event, rows)
        }
        if page:
            for row in await self._run(
                sql.LIST_ATTEMPTS, node_id=node_id, first=rows[-1][0], last=rows[0][0]
            ):
                attempt = _attempt(row)
                page[attempt.event_id].attempts.append(attempt)
        return list(page.values())

    async def prune(self, *, before: datetime, most: int) -> int:
        """Forget the oldest events from before then, attempts included; count them."""
        return len(await self._run(sql.PRUNE, before=to_us(before), most=most))


def _attempt(row: Row) -> Attempt:
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
