"""The events sent to subscriptions, and each attempt."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from leyden.domain.deliveries import Answer, Message, State, Verdict
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound
from leyden.storage.statements import AFTER_ALL, Row, Run, SqlFile
from leyden.values import Struct

sql = SqlFile("subscription_deliveries")

_MICROSECOND: Final = timedelta(microseconds=1)


class LoggedMessage(Message, frozen=True, kw_only=True):
    """An event of the log on its way; a test has the number 0."""

    number: int
    after: int = -1  # the subscription's position; -1 if sent by hand


class Sent(Struct, frozen=True, kw_only=True):
    """An event that was sent, with its attempts."""

    position: int
    message: LoggedMessage
    attempts: list[tuple[datetime, Answer]]


class SubscriptionDeliveries:
    """The rows of subscription_delivery and subscription_attempt."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add_attempt(
        self,
        subscription_id: str,
        message: LoggedMessage,
        answer: Answer,
        verdict: Verdict,
        *,
        at: datetime,
    ) -> None:
        """Store the outcome of an attempt, and the delivery's new state."""
        state = verdict.state
        if message.test and state is State.PENDING:
            state = State.FAILED  # it is not retried
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
        """Return the sent event with this id, without attempts; or raise NotFound."""
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
        most: int,
        hidden: Iterable[str] = (),
    ) -> list[Sent]:
        """Return the events sent before this position, newest first.

        Events of hidden types are left out.
        """
        rows = await self._run(
            sql.page,
            subscription_id=subscription_id,
            before=AFTER_ALL if before is None else before,
            most=most,
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

    async def prune(self, *, before: datetime, most: int) -> int:
        """Delete the oldest deliveries before then; return how many."""
        return len(await self._run(sql.prune, before=to_us(before), most=most))


def _sent(row: Row) -> Sent:
    position, _, event_id, number, kind, body, created, state, due, attempts = row
    return Sent(
        position=position,
        message=LoggedMessage(
            id=event_id,
            number=number,
            type=kind,
            body=body,
            test=number == 0,
            created=from_us(created),
            state=State(state),
            due=from_us(due),
            attempts=attempts,
        ),
        attempts=[],
    )


def _attempt(row: Row) -> tuple[datetime, Answer]:
    _, _, at, took, status, excerpt, error = row
    answer = Answer(
        status=status,
        excerpt=excerpt,
        error=error,
        took=timedelta(microseconds=took),
    )
    return from_us(at), answer
