"""Each status change of an order."""

from collections.abc import Sequence
from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.channels.rules.orders import OrderStatus

sql = SqlFile(__file__)


class Moves:
    """The rows of order_move."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(
        self, made: Sequence[tuple[str, OrderStatus, OrderStatus]], *, at: datetime
    ) -> None:
        """Store status changes of orders."""
        now = to_us(at)
        await self._run.many(
            sql.add,
            [
                {
                    "order_id": order_id,
                    "at": now,
                    "before": str(before),
                    "after": str(after),
                }
                for order_id, before, after in made
            ],
        )

    async def of_order(self, order_id: str) -> list[tuple[OrderStatus, OrderStatus]]:
        """Return an order's status changes, oldest first."""
        rows = await self._run(sql.of_order, order_id=order_id)
        return [(OrderStatus(before), OrderStatus(after)) for before, after, _ in rows]

    async def timeline(self, order_id: str) -> list[tuple[OrderStatus, datetime]]:
        """Return an order's statuses with their times, oldest first."""
        rows = await self._run(sql.of_order, order_id=order_id)
        return [(OrderStatus(after), from_us(at)) for _, after, at in rows]
