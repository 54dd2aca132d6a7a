"""Each move that an order made."""

from collections.abc import Sequence
from datetime import datetime

from leyden.domain.orders import Status
from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Run
from leyden.storage.written import moves as sql


class Moves:
    """The rows of order_move."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(
        self, made: Sequence[tuple[str, Status, Status]], *, at: datetime
    ) -> None:
        """Keep the moves that orders made."""
        now = to_us(at)
        await self._run.many(
            sql.ADD,
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

    async def of_order(self, order_id: str) -> list[tuple[Status, Status]]:
        """Give each move the order made, the first one first."""
        rows = await self._run(sql.OF_ORDER, order_id=order_id)
        return [(Status(before), Status(after)) for before, after in rows]

    async def timeline(self, order_id: str) -> list[tuple[Status, datetime]]:
        """Give where each move led the order, and when, the first one first."""
        rows = await self._run(sql.TIMELINE, order_id=order_id)
        return [(Status(after), from_us(at)) for after, at in rows]
