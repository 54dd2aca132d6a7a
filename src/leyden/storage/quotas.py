"""Quotas of organizations, and what counts against them."""

from datetime import datetime
from typing import NamedTuple

from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Run, Statement, Value
from leyden.storage.written import quotas as sql


class Nodes(NamedTuple):
    """The nodes of an organization, and those of which only data is left."""

    there: int
    kept: int  # these and those
    next_gone: datetime | None  # when the first of the deleted ones is


class GivenUp(NamedTuple):
    """Unpaid orders that were cancelled, and when the first of them was made."""

    orders: int
    first: datetime | None


class Quotas:
    """The rows of organization_quota and order_place, and counts of others."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def set(self, organization_id: str, name: str, most: int) -> None:
        """Keep an exception for one organization."""
        await self._run(sql.SET, organization_id=organization_id, name=name, most=most)

    async def reset(self, organization_id: str, name: str) -> None:
        """Remove an exception; the second time there is none."""
        await self._run(sql.RESET, organization_id=organization_id, name=name)

    async def exceptions(self, organization_id: str) -> dict[str, int]:
        """Return the limits that differ from the settings, by name."""
        return dict(await self._run(sql.LIMITS, organization_id=organization_id))

    async def nodes(self, organization_id: str) -> Nodes:
        """Count the nodes, and those whose data is kept."""
        rows = await self._run(sql.NODES, organization_id=organization_id)
        there, kept, due = rows[0]
        return Nodes(int(there), kept, _time(due))

    async def unpaid_orders(
        self, organization_id: str, *, but: str = "", now: datetime
    ) -> int:
        """Count the unpaid orders, and the places kept for some, but for one's own."""
        return await self._count(
            sql.UNPAID, organization_id=organization_id
        ) + await self._count(
            sql.PLACES, organization_id=organization_id, but=but, now=to_us(now)
        )

    async def given_up(self, organization_id: str, *, since: datetime) -> GivenUp:
        """Count the orders made since then that were cancelled unpaid."""
        rows = await self._run(
            sql.GIVEN_UP, organization_id=organization_id, since=to_us(since)
        )
        return GivenUp(rows[0][0], _time(rows[0][1]))

    async def keep_place(
        self, organization_id: str, order_id: str, *, now: datetime, until: datetime
    ) -> None:
        """Count an order that is still to be made; forget places that were left."""
        await self._run(sql.FORGET_PLACES, of=organization_id, now=to_us(now))
        await self._run(
            sql.KEEP_PLACE,
            order_id=order_id,
            organization_id=organization_id,
            until=to_us(until),
        )

    async def leave_place(self, order_id: str) -> bool:
        """Count it no longer; False when there was no place any more."""
        return bool(await self._run(sql.LEAVE_PLACE, order_id=order_id))

    async def members(self, organization_id: str) -> int:
        """Count who is in the organization."""
        return await self._count(sql.MEMBERS, organization_id=organization_id)

    async def macaroons(self, node_id: str) -> int:
        """Count the macaroons that are stored for a node."""
        return await self._count(sql.MACAROONS, node_id=node_id)

    async def most_macaroons(self, organization_id: str) -> int:
        """Count the macaroons of the node that has the most."""
        return await self._count(sql.MOST_MACAROONS, organization_id=organization_id)

    async def replaced_bytes(self, organization_id: str) -> int:
        """Return how large the history of replaced backups is."""
        return await self._count(sql.REPLACED, organization_id=organization_id)

    async def answers(self, organization_id: str, *, most: int, now: datetime) -> int:
        """Count the Idempotency-Keys that have an answer, up to `most` of them."""
        return await self._count(
            sql.ANSWERS, organization_id=organization_id, most=most, now=to_us(now)
        )

    async def first_answer(
        self, organization_id: str, *, now: datetime
    ) -> datetime | None:
        """Return when the first of these answers expires."""
        rows = await self._run(
            sql.FIRST_ANSWER, organization_id=organization_id, now=to_us(now)
        )
        return _time(rows[0][0])

    async def _count(self, statement: Statement, **values: Value) -> int:
        return int((await self._run(statement, **values))[0][0])


def _time(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)
