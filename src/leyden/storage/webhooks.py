"""Webhook events, pending and past."""

from datetime import datetime

from leyden.domain.deliveries import Message, State, Waiting
from leyden.domain.times import from_us, to_us
from leyden.domain.webhooks import Type
from leyden.errors import NotFound
from leyden.storage.statements import AFTER_ALL, Row, Run, SqlFile

sql = SqlFile("webhooks")


class KeptEvent(Message, frozen=True, kw_only=True):
    """A stored event of a node and its delivery state."""

    position: int
    node_id: str
    overtakable: bool

    @property
    def waiting(self) -> Waiting:
        """The event's position among the pending ones."""
        return Waiting(
            position=self.position, due=self.due, overtakable=self.overtakable
        )


class Webhooks:
    """The rows of webhook_event."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(
        self,
        event_id: str,
        node_id: str,
        *,
        kind: Type,
        body: str,
        now: datetime,
        told_once: str | None = None,
        state: State = State.PENDING,
        test: bool = False,
    ) -> bool:
        """Store a new event; return False if it may be sent only once, and was."""
        rows = await self._run(
            sql.add,
            id=event_id,
            node_id=node_id,
            type=kind,
            body=body,
            told_once=told_once,
            test=int(test),
            created=to_us(now),
            state=state,
            due=to_us(now),
        )
        return bool(rows)

    async def supersede_status(self, node_id: str) -> None:
        """Drop the pending status event: a newer one replaces it."""
        await self._run(sql.supersede_status, node_id=node_id)

    async def make_due(self, node_id: str, *, now: datetime) -> None:
        """Make all pending events of this node due now."""
        await self._run(sql.make_due, node_id=node_id, now=to_us(now))

    async def give_up(self, node_id: str, *, before: datetime) -> None:
        """Give up on pending events that were announced before then."""
        await self._run(sql.give_up, node_id=node_id, before=to_us(before))

    async def give_all_up(self, node_id: str) -> None:
        """Give up on all pending events of the node."""
        await self._run(sql.give_all_up, node_id=node_id)

    async def pending(self, node_id: str, *, most: int = 20) -> list[KeptEvent]:
        """Return the first pending events, in order."""
        rows = await self._run(sql.pending, node_id=node_id, most=most)
        return [event_of(row) for row in rows]

    async def page(
        self, node_id: str, *, before: int | None, most: int
    ) -> list[KeptEvent]:
        """Return a node's events from before this position, newest first."""
        before = AFTER_ALL if before is None else before
        rows = await self._run(sql.page, node_id=node_id, before=before, most=most)
        return [event_of(row) for row in rows]

    async def last_error(self, node_id: str) -> datetime | None:
        """Return when an `error` was last announced."""
        rows = await self._run(sql.last_error, node_id=node_id)
        return from_us(rows[0][0]) if rows else None

    async def get(self, node_id: str, event_id: str) -> KeptEvent:
        """Return an event of this node, or raise NotFound."""
        rows = await self._run(sql.get, node_id=node_id, id=event_id)
        if not rows:
            raise NotFound
        return event_of(rows[0])

    async def without_task(self, kind: str) -> list[str]:
        """Return nodes with pending events but no queued task of this kind."""
        return [node_id for (node_id,) in await self._run(sql.without_task, kind=kind)]

    async def delete(self, node_id: str) -> None:
        """Delete all events of a node."""
        await self._run(sql.delete, node_id=node_id)


def event_of(row: Row) -> KeptEvent:
    """Build the event from a row."""
    position, id_, node_id, kind, body, _, test, created, state, due, over, made = row
    return KeptEvent(
        position=position,
        id=id_,
        node_id=node_id,
        type=Type(kind),
        body=body,
        test=bool(test),
        created=from_us(created),
        state=State(state),
        due=from_us(due),
        overtakable=bool(over),
        attempts=made,
    )
