"""The channels that orders became, and what each cost at the auction."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from leyden.domain.tickets import Lease
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.storage.statements import Run, SqlFile

sql = SqlFile("leases")


class Leases:
    """The rows of lease."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, made: Sequence[tuple[str, Lease]], *, at: datetime) -> None:
        """Store the leases that tickets became; one for each order."""
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
                for order_id, lease in made
            ],
        )

    async def of_orders(self, order_ids: Iterable[str]) -> dict[str, Lease]:
        """Return the leases of those of these orders that have one."""
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
                at,
            ) in rows
        }
