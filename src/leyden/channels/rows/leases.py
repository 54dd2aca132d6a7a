"""The channels of filled orders, and what each cost."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.base.rules.units import Sats
from leyden.channels.rules.leases import Lease
from leyden.values import Struct

sql = SqlFile(__file__)


class RunningLease(Struct, frozen=True, kw_only=True):
    """A direct channel, and the progress of its lease."""

    order_id: str
    organization_id: str
    point: str
    ends: int  # the block
    announced: int  # the last announced event: none, lease ending, or lease ended
    peer: str = ""  # public key of the seller's node
    capacity: Sats = Sats(0)
    extended: int = 0  # blocks
    # Whether it is extended by itself: for how many blocks (0: not), and up to which
    # price; and why not, as last announced.
    auto_blocks: int = 0
    auto_most: Sats = Sats(0)
    auto_refused: str = ""
    closed: datetime | None = None
    closed_early: bool = False


class Leases:
    """The rows of lease."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, leases: Sequence[tuple[str, Lease]], *, at: datetime) -> None:
        """Store the leases of filled orders, one for each."""
        await self._run.many(
            sql.add,
            [
                {
                    "order_id": order_id,
                    "at": to_us(at),
                    "channel_point": lease.channel_point,
                    "premium": lease.premium,
                    "execution_fee": lease.execution_fee,
                    "chain_fee": lease.chain_fee,
                    "self_chan_balance": lease.self_chan_balance,
                    "node": lease.node,
                    "peer": lease.peer,
                    "height": lease.height,
                }
                for order_id, lease in leases
            ],
        )

    async def running(self, *, after: str = "", limit: int) -> list[RunningLease]:
        """Return direct channels that were not seen closed, ordered by order id."""
        return await self._listed(
            await self._run(sql.running, after=after, limit=limit)
        )

    async def running_of(self, order_ids: Iterable[str]) -> dict[str, RunningLease]:
        """Return the direct channels of these orders that were not seen closed."""
        rows = await self._run(sql.running_of, order_ids=tuple(order_ids))
        return {each.order_id: each for each in map(_running, rows)}

    async def running_to(self, node_key: str, *, limit: int) -> list[RunningLease]:
        """Return a node's direct channels that were not seen closed."""
        return await self._listed(
            await self._run(sql.running_to, node_key=node_key, limit=limit)
        )

    async def _listed(self, rows: Iterable[Row]) -> list[RunningLease]:
        found = await self.running_of(order_id for (order_id,) in rows)
        return list(found.values())

    async def of_organization(
        self, organization_id: str, *, limit: int
    ) -> dict[str, tuple[str, int]]:
        """Return the order of each channel point, and the block where its lease ends.

        The newest channels that an organization bought; a block of 0 is unknown.
        """
        rows = await self._run(
            sql.of_organization, organization_id=organization_id, limit=limit
        )
        return {point: (order_id, int(ends)) for order_id, point, ends in rows}

    async def change(self, before: RunningLease, after: RunningLease) -> bool:
        """Store a changed lease; return False if another process changed it first."""
        rows = await self._run(
            sql.change,
            order_id=before.order_id,
            was_told=before.announced,
            was_extended=before.extended,
            was_auto_blocks=before.auto_blocks,
            was_auto_most=before.auto_most,
            was_auto_refused=before.auto_refused,
            told=after.announced,
            extended=after.extended,
            auto_blocks=after.auto_blocks,
            auto_most=after.auto_most,
            auto_refused=after.auto_refused,
            closed=None if after.closed is None else to_us(after.closed),
            closed_early=int(after.closed_early),
        )
        return bool(rows)

    async def extended(self) -> dict[str, int]:
        """Return by how many blocks leases were extended, by order id."""
        rows = await self._run(sql.extended)
        return {order_id: int(blocks) for order_id, blocks in rows}

    async def closed_early(self, *, since: datetime, limit: int) -> list[str]:
        """Return the orders whose channel was closed early since then."""
        rows = await self._run(sql.closed_early, since=to_us(since), limit=limit)
        return [str(order_id) for (order_id,) in rows]

    async def of_orders(self, order_ids: Iterable[str]) -> dict[str, Lease]:
        """Return the leases of these orders, by order id."""
        booked = await self.booked(order_ids)
        return {order_id: lease for order_id, (lease, _) in booked.items()}

    async def booked(
        self, order_ids: Iterable[str]
    ) -> dict[str, tuple[Lease, datetime]]:
        """Return the leases of these orders, and when each was booked."""
        rows = await self._run(sql.of_orders, order_ids=tuple(order_ids))
        return {
            order_id: (
                Lease(
                    channel_point=channel_point,
                    premium=Sats(premium),
                    execution_fee=Sats(execution_fee),
                    chain_fee=Sats(chain_fee),
                    self_chan_balance=Sats(self_chan_balance),
                    node=node,
                    peer=peer,
                    height=height,
                    extended=int(extended),
                    auto_blocks=int(auto_blocks),
                    auto_most=Sats(auto_most),
                ),
                from_us(at),
            )
            for (
                order_id,
                channel_point,
                premium,
                execution_fee,
                chain_fee,
                self_chan_balance,
                node,
                peer,
                height,
                extended,
                auto_blocks,
                auto_most,
                at,
            ) in rows
        }


def _running(row: Row) -> RunningLease:
    (
        order_id,
        organization_id,
        point,
        ends,
        announced,
        peer,
        capacity,
        extended,
        auto_blocks,
        auto_most,
        auto_refused,
    ) = row
    return RunningLease(
        order_id=order_id,
        organization_id=organization_id,
        point=point,
        ends=int(ends),
        announced=announced,
        peer=peer,
        capacity=Sats(capacity),
        extended=int(extended),
        auto_blocks=int(auto_blocks),
        auto_most=Sats(auto_most),
        auto_refused=auto_refused,
    )
