"""The amounts of outstanding tickets, read from our orders."""

from leyden.base.database.database import Database
from leyden.base.rules.units import Sats


class OrderBook:
    """The order book of a market, derived from stored orders."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def outstanding(self, order_id: str | None) -> Sats:
        """Return what tickets outside the auction may still take."""
        reader = self._database.reader.orders
        before = await reader.get(order_id) if order_id else None
        return await reader.outstanding(before=before)
