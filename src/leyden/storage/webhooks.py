"""Events that are to be told to the receivers of webhooks."""

from datetime import datetime

from leyden.domain.deliveries import State, Waiting
from leyden.domain.times import from_us, to_us
from leyden.domain.webhooks import Type
from leyden.errors import NotFound
from leyden.storage.statements import Row, Run
from leyden.storage.written import webhooks as sql
from leyden.values import Struct


class KeptEvent(Struct, frozen=True, kw_only=True):
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
            sql.ADD,
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
        await self._run(sql.SUPERSEDE, of=node_id)

    async def hurry(self, node_id: str, *, now: datetime) -> None:
        """Make everything that waits for this receiver due."""
        await self._run(sql.HURRY, of=node_id, now=to_us(now))

    async def give_up(self, node_id: str, *, before: datetime) -> None:
        """End the waiting of what was announced before then."""
        await self._run(sql.GIVE_UP, of=node_id, before=to_us(before))

    async def give_all_up(self, node_id: str) -> None:
        """End the waiting of whatever waits."""
        await self._run(sql.GIVE_ALL_UP, of=node_id)

    async def pending(self, node_id: str, *, most: int = 20) -> list[KeptEvent]:
        """Give the first events that wait, in the order in which they happened."""
        rows = await self._run(sql.PENDING, node_id=node_id, most=most)
        return [read_event(row) for row in rows]

    async def last_error(self, node_id: str) -> datetime | None:
        """Say when an `error` was last announced."""
        rows = await self._run(sql.LAST_ERROR, node_id=node_id)
        return from_us(rows[0][0]) if rows else None

    async def get(self, node_id: str, event_id: str) -> KeptEvent:
        """Give one event of this node, or NotFound."""
        rows = await self._run(sql.GET, node_id=node_id, event_id=event_id)
        if not rows:
            raise NotFound
        return read_event(rows[0])

    async def stranded(self, kind: str) -> list[str]:
        """Name the nodes whose events wait although no task of this kind is put."""
        return [node_id for (node_id,) in await self._run(sql.STRANDED, kind=kind)]

    async def forget(self, node_id: str) -> None:
        """Forget all that was ever told of a node."""
        await self._run(sql.FORGET, node_id=node_id)


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
