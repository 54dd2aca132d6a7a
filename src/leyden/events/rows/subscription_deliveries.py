"""Events on their way to endpoints, and each attempt to deliver them.

What a subscription gets is in the log, and has a row here from the first attempt on. A
node's three events are queued here in the transaction that made them true, because a
newer status replaces one that waits.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from leyden.base.database.statements import AFTER_ALL, Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotFound
from leyden.events.rules.deliveries import Answer, DeliveryState, Message, Verdict
from leyden.values import Struct

sql = SqlFile(__file__)

_MICROSECOND: Final = timedelta(microseconds=1)


class Attempt(NamedTuple):
    """An attempt and its outcome."""

    at: datetime
    answer: Answer


class Sent(Struct, frozen=True, kw_only=True):
    """An event for an endpoint, with its attempts."""

    position: int
    message: Message
    attempts: list[Attempt]


class SubscriptionDeliveries:
    """The rows of subscription_delivery and subscription_attempt."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def queue(
        self, node_id: str, message: Message, *, once: str | None = None
    ) -> bool:
        """Queue an event for a node; return False if it is sent only once, and was."""
        rows = await self._run(
            sql.queue,
            subscription_id=node_id,
            event_id=message.id,
            number=message.number,
            type=message.type,
            body=message.body,
            created=to_us(message.created),
            state=message.state,
            due=to_us(message.due),
            once=once,
        )
        return bool(rows)

    async def supersede(self, node_id: str, kind: str) -> None:
        """Drop the pending events of a type: a newer one replaces them."""
        await self._run(sql.supersede, subscription_id=node_id, type=kind)

    async def make_due(self, node_id: str, *, now: datetime) -> None:
        """Make all pending events of this node due now."""
        await self._run(sql.make_due, subscription_id=node_id, now=to_us(now))

    async def give_up(self, node_id: str, *, before: datetime | None = None) -> None:
        """Fail a node's pending events, or only those queued before then."""
        await self._run(
            sql.give_up,
            subscription_id=node_id,
            before=AFTER_ALL if before is None else to_us(before),
        )

    async def pending(self, node_id: str, *, limit: int = 20) -> list[Message]:
        """Return a node's first pending events, in order."""
        rows = await self._run(sql.pending, subscription_id=node_id, limit=limit)
        return [_sent(row).message for row in rows]

    async def add_attempt(
        self,
        subscription_id: str,
        message: Message,
        answer: Answer,
        verdict: Verdict,
        *,
        at: datetime,
    ) -> None:
        """Store the outcome of an attempt, and the delivery's new state."""
        state = verdict.state
        if message.test and state is DeliveryState.PENDING:
            state = DeliveryState.FAILED  # it is not retried
        rows = await self._run(
            sql.add,
            subscription_id=subscription_id,
            event_id=message.id,
            number=message.number,
            type=message.type,
            body=message.body,
            created=to_us(message.created),
            state=state,
            due=to_us(verdict.due),
            overtakable=int(verdict.overtakable),
        )
        delivery, number = rows[0]
        await self._run(
            sql.add_attempt,
            delivery=delivery,
            number=number,
            at=to_us(at),
            took=answer.took // _MICROSECOND,
            status=answer.status,
            excerpt=answer.excerpt,
            error=answer.error,
        )

    async def get(self, subscription_id: str, event_id: str) -> Sent:
        """Return the event with this id, without attempts; or raise NotFound."""
        rows = await self._run(
            sql.get, subscription_id=subscription_id, event_id=event_id
        )
        if not rows:
            raise NotFound
        return _sent(rows[0])

    async def page(
        self,
        subscription_id: str,
        *,
        before: int | None,
        limit: int,
        hidden: Iterable[str] = (),
    ) -> list[Sent]:
        """Return an endpoint's events before this position, newest first.

        Events of hidden types are left out.
        """
        rows = await self._run(
            sql.page,
            subscription_id=subscription_id,
            before=AFTER_ALL if before is None else before,
            limit=limit,
            hidden=tuple(hidden),
        )
        page = {row[0]: _sent(row) for row in rows}
        if rows:
            for row in await self._run(
                sql.list_attempts,
                subscription_id=subscription_id,
                first=rows[-1][0],
                last=rows[0][0],
            ):
                if row[0] in page:
                    page[row[0]].attempts.append(_attempt(row))
        return list(page.values())

    async def prune(self, *, before: datetime, limit: int) -> int:
        """Delete the oldest deliveries before then; return how many."""
        return len(await self._run(sql.prune, before=to_us(before), limit=limit))


def _sent(row: Row) -> Sent:
    position, _, event_id, number, kind, body, created, state, due, *more = row
    attempts, overtakable, _ = more
    return Sent(
        position=position,
        message=Message(
            id=event_id,
            number=number,
            type=kind,
            body=body,
            created=from_us(created),
            state=DeliveryState(state),
            due=from_us(due),
            attempts=attempts,
            overtakable=bool(overtakable),
        ),
        attempts=[],
    )


def _attempt(row: Row) -> Attempt:
    _, _, at, took, status, excerpt, error = row
    answer = Answer(
        status=status,
        excerpt=excerpt,
        error=error,
        took=timedelta(microseconds=took),
    )
    return Attempt(from_us(at), answer)
