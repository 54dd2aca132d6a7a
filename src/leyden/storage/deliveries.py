"""How each attempt to deliver a webhook went."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import BigInteger, bindparam, case, delete, insert, select, update

from leyden.domain.deliveries import Answer, Verdict
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound
from leyden.storage.statements import Row, Run
from leyden.storage.tables_webhooks import attempts, events
from leyden.storage.webhooks import KeptEvent, read_event

# What is no longer pending can still turn out to have been delivered, and nothing else.
_may_become = (events.c.state == "pending") | (bindparam("becomes") == "delivered")
_SETTLE = (
    update(events)
    .where(events.c.id == bindparam("event_id"))
    .values(
        attempts=events.c.attempts + 1,
        state=case((_may_become, bindparam("becomes")), else_=events.c.state),
        due=case((_may_become, bindparam("next_due")), else_=events.c.due),
        overtakable=bindparam("may_be_overtaken"),
    )
    .returning(events.c.attempts)
)
_ADD = insert(attempts)
_MICROSECOND = timedelta(microseconds=1)
_LIST = (
    select(events)
    .where(
        events.c.node_id == bindparam("node_id"),
        events.c.position < bindparam("before"),
    )
    .order_by(events.c.position.desc())
    .limit(bindparam("most", type_=BigInteger))
)
_LIST_ATTEMPTS = (
    select(attempts)
    .join(events, events.c.id == attempts.c.event_id)
    .where(
        events.c.node_id == bindparam("node_id"),
        events.c.position.between(bindparam("first"), bindparam("last")),
    )
    .order_by(attempts.c.event_id, attempts.c.number)
)
_oldest = (
    select(events.c.position, events.c.created)
    .order_by(events.c.position)
    .limit(bindparam("most", type_=BigInteger))
    .subquery()
)
_PRUNE = (
    delete(events)
    .where(
        events.c.position.in_(
            select(_oldest.c.position).where(_oldest.c.created < bindparam("before"))
        )
    )
    .returning(events.c.position)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt, and what came of it."""

    event_id: str
    number: int
    at: datetime
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
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
            _SETTLE,
            event_id=event_id,
            becomes=verdict.state,
            next_due=to_us(verdict.due),
            may_be_overtaken=int(verdict.overtakable),
        )
        if not rows:
            raise NotFound
        await self._run(
            _ADD,
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
        rows = await self._run(_LIST, node_id=node_id, before=before, most=most)
        page = {
            event.id: Delivery(event=event, attempts=[])
            for event in map(read_event, rows)
        }
        if page:
            for row in await self._run(
                _LIST_ATTEMPTS, node_id=node_id, first=rows[-1][0], last=rows[0][0]
            ):
                attempt = _attempt(row)
                page[attempt.event_id].attempts.append(attempt)
        return list(page.values())

    async def prune(self, *, before: datetime, most: int) -> int:
        """Forget the oldest events from before then, attempts included; count them."""
        return len(await self._run(_PRUNE, before=to_us(before), most=most))


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
