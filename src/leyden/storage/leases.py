"""The channels that orders became, and what the auction took for each."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from leyden.domain.tickets import Lease
from leyden.domain.times import to_us
from leyden.domain.units import Sats
from leyden.storage.statements import Run
from leyden.storage.words import written_words
from leyden.storage.written import leases as sql


class Leases:
    """The rows of lease."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, made: Sequence[tuple[str, Lease]], *, at: datetime) -> None:
        """Keep what tickets became, each order's once."""
        await self._run.many(
            sql.ADD,
            [
                {
                    "order_id": order_id,
                    "at": to_us(at),
                    "channel_point": lease.channel_point,
                    "premium": lease.premium,
                    "execution_fee": lease.execution_fee,
                    "chain_fee": lease.chain_fee,
                    "self_chan_balance": lease.self_chan_balance,
                }
                for order_id, lease in made
            ],
        )

    async def of_orders(self, order_ids: Iterable[str]) -> dict[str, Lease]:
        """Give the leases of these orders, those that have one."""
        rows = await self._run(sql.OF_ORDERS, order_ids=written_words(order_ids))
        return {
            order_id: Lease(
                channel_point=channel_point,
                premium=Sats(premium),
                execution_fee=Sats(execution_fee),
                chain_fee=Sats(chain_fee),
                self_chan_balance=Sats(self_chan_balance),
            )
            for (
                order_id,
                channel_point,
                premium,
                execution_fee,
                chain_fee,
                self_chan_balance,
            ) in rows
        }
