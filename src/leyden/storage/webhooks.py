"""Events that are to be told to the receivers of webhooks."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    bindparam,
    delete,
    exists,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.domain.deliveries import State, Waiting
from leyden.domain.times import from_us, to_us
from leyden.domain.webhooks import Type
from leyden.errors import NotFound
from leyden.storage.statements import Row, Run
from leyden.storage.tables import tasks
from leyden.storage.tables_webhooks import events, receivers

# Written out, not bound: only so do the partial indexes serve these statements.
_pending = events.c.state == literal_column("'pending'")
_here = events.c.node_id == bindparam("of")

_new = insert_once(events).values(
    {
        column.name: bindparam(column.name)
        for column in events.c
        if column.name != "position"
    }
)
_ADD = _new.on_conflict_do_nothing(
    index_elements=["node_id", "told_once"], index_where=events.c.told_once.is_not(None)
).returning(events.c.position)
_SUPERSEDE = (
    update(events)
    .where(_here, _pending, events.c.type == literal_column("'status'"))
    .values(state=literal_column("'superseded'"))
)
_HURRY = (
    update(events)
    .where(_here, _pending, events.c.due > bindparam("now"))
    .values(due=bindparam("now"))
)
_GIVE_UP = (
    update(events)
    .where(_here, _pending, events.c.created < bindparam("before"))
    .values(state=literal_column("'failed'"))
)
_GIVE_ALL_UP = (
    update(events).where(_here, _pending).values(state=literal_column("'failed'"))
)
_PENDING = (
    select(events)
    .where(events.c.node_id == bindparam("node_id"), _pending)
    .order_by(events.c.position)
    .limit(bindparam("most", type_=BigInteger))
)
_LAST_ERROR = (
    select(events.c.created)
    .where(
        events.c.node_id == bindparam("node_id"),
        events.c.type == literal_column("'error'"),
    )
    .order_by(events.c.position.desc())
    .limit(1)
)
_GET = select(events).where(
    events.c.node_id == bindparam("node_id"), events.c.id == bindparam("event_id")
)
# What waits while nothing is due that would send it, nor its receiver paused.
_STRANDED = (
    select(events.c.node_id)
    .distinct()
    .where(
        _pending,
        ~exists().where(
            tasks.c.kind == bindparam("kind"), tasks.c.key == events.c.node_id
        ),
        ~exists().where(
            receivers.c.node_id == events.c.node_id, receivers.c.pause.is_not(None)
        ),
    )
)
_FORGET = delete(events).where(events.c.node_id == bindparam("node_id"))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEvent:
    """An event, and how far it has come."""

    position: int
    id: str
    node_id: str
    type: Type
    body: str
    test: bool
    created: datetime
    state: State
    due: datetime
    overtakable: bool
    attempts: int

    @property
    def waiting(self) -> Waiting:
        """Its place among those that wait."""
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
        """Keep a new event; False when the node has been told this already."""
        rows = await self._run(
            _ADD,
            id=event_id,
            node_id=node_id,
            type=kind,
            body=body,
            told_once=told_once,
            test=int(test),
            created=to_us(now),
            state=state,
            due=to_us(now),
            overtakable=0,
            attempts=0,
        )
        return bool(rows)

    async def supersede_status(self, node_id: str) -> None:
        """Drop the status that still waits: a newer one is about to be told."""
        await self._run(_SUPERSEDE, of=node_id)

    async def hurry(self, node_id: str, *, now: datetime) -> None:
        """Make everything that waits for this receiver due."""
        await self._run(_HURRY, of=node_id, now=to_us(now))

    async def give_up(self, node_id: str, *, before: datetime) -> None:
        """End the waiting of what was announced before then."""
        await self._run(_GIVE_UP, of=node_id, before=to_us(before))

    async def give_all_up(self, node_id: str) -> None:
        """End the waiting of whatever waits."""
        await self._run(_GIVE_ALL_UP, of=node_id)

    async def pending(self, node_id: str, *, most: int = 20) -> list[KeptEvent]:
        """Give the first events that wait, in the order in which they happened."""
        rows = await self._run(_PENDING, node_id=node_id, most=most)
        return [read_event(row) for row in rows]

    async def last_error(self, node_id: str) -> datetime | None:
        """Say when an `error` was last announced."""
        rows = await self._run(_LAST_ERROR, node_id=node_id)
        return from_us(rows[0][0]) if rows else None

    async def get(self, node_id: str, event_id: str) -> KeptEvent:
        """Give one event of this node, or NotFound."""
        rows = await self._run(_GET, node_id=node_id, event_id=event_id)
        if not rows:
            raise NotFound
        return read_event(rows[0])

    async def stranded(self, kind: str) -> list[str]:
        """Name the nodes whose events wait although no task of this kind is put."""
        return [node_id for (node_id,) in await self._run(_STRANDED, kind=kind)]

    async def forget(self, node_id: str) -> None:
        """Forget all that was ever told of a node."""
        await self._run(_FORGET, node_id=node_id)


def read_event(row: Row) -> KeptEvent:
    """Give the event that a whole row of the table holds."""
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
