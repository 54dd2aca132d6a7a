"""Quotas of organizations, and the usage that counts against them."""

from datetime import datetime
from typing import NamedTuple

from leyden.base.database.statements import Run, SqlFile, Statement, Value
from leyden.base.rules.times import from_us, to_us

sql = SqlFile(__file__)


class NodeCount(NamedTuple):
    """An organization's number of nodes, and of deleted ones with data."""

    existing: int
    stored: int  # nodes and deleted nodes together
    next_gone: datetime | None  # when the data of the first deleted one is deleted


class GivenUp(NamedTuple):
    """Unpaid orders that were cancelled, and when the first was created."""

    orders: int
    first: datetime | None


class Quotas:
    """The rows of organization_quota and order_place, and counts of others."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def set(self, organization_id: str, name: str, limit: int) -> None:
        """Store an exception for one organization."""
        await self._run(sql.set, organization_id=organization_id, name=name, most=limit)

    async def reset(self, organization_id: str, name: str) -> None:
        """Remove an exception; no-op if there is none."""
        await self._run(sql.reset, organization_id=organization_id, name=name)

    async def exceptions(self, organization_id: str) -> dict[str, int]:
        """Return the limits that differ from the settings, by name."""
        return dict(await self._run(sql.exceptions, organization_id=organization_id))

    async def nodes(self, organization_id: str) -> NodeCount:
        """Count the nodes, and the deleted nodes whose data is kept."""
        rows = await self._run(sql.nodes, organization_id=organization_id)
        count, stored, due = rows[0]
        return NodeCount(int(count), stored, _time(due))

    async def unpaid_orders(
        self, organization_id: str, *, but: str = "", now: datetime
    ) -> int:
        """Count unpaid orders and reserved places, except the order `but`."""
        return await self._count(
            sql.unpaid, organization_id=organization_id
        ) + await self._count(
            sql.slots, organization_id=organization_id, but=but, now=to_us(now)
        )

    async def given_up(self, organization_id: str, *, since: datetime) -> GivenUp:
        """Count the orders created since then that were cancelled unpaid."""
        rows = await self._run(
            sql.given_up, organization_id=organization_id, since=to_us(since)
        )
        return GivenUp(rows[0][0], _time(rows[0][1]))

    async def reserve_slot(
        self, organization_id: str, order_id: str, *, now: datetime, until: datetime
    ) -> None:
        """Reserve a place for an order to be created; delete expired places."""
        await self._run(
            sql.delete_slots, organization_id=organization_id, now=to_us(now)
        )
        await self._run(
            sql.reserve_slot,
            order_id=order_id,
            organization_id=organization_id,
            until=to_us(until),
        )

    async def release_slot(self, order_id: str) -> bool:
        """Release an order's place; return False if there was none."""
        return bool(await self._run(sql.release_slot, order_id=order_id))

    async def members(self, organization_id: str) -> int:
        """Count the organization's members."""
        return await self._count(sql.members, organization_id=organization_id)

    async def macaroons(self, node_id: str) -> int:
        """Count the macaroons stored for a node."""
        return await self._count(sql.macaroons, node_id=node_id)

    async def max_macaroons(self, organization_id: str) -> int:
        """Return the number of macaroons of the node that has the most."""
        return await self._count(sql.max_macaroons, organization_id=organization_id)

    async def replaced_bytes(self, organization_id: str) -> int:
        """Return the size of the history of replaced backups, in bytes."""
        return await self._count(sql.replaced, organization_id=organization_id)

    async def answers(self, organization_id: str, *, limit: int, now: datetime) -> int:
        """Count the organization's Idempotency-Keys, up to `limit`."""
        return await self._count(
            sql.answers, organization_id=organization_id, limit=limit, now=to_us(now)
        )

    async def first_answer(
        self, organization_id: str, *, now: datetime
    ) -> datetime | None:
        """Return when the first of these responses expires."""
        rows = await self._run(
            sql.first_answer, organization_id=organization_id, now=to_us(now)
        )
        return _time(rows[0][0])

    async def _count(self, statement: Statement, **values: Value) -> int:
        return int((await self._run(statement, **values))[0][0])


def _time(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)
