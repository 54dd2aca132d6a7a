"""The market's book of tickets, read from our orders."""

from leyden.domain.units import Sats
from leyden.storage.database import Database


class OrderBook:
    """The book as stored in our orders, so that nothing is stored twice."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def outstanding(self, order_id: str | None) -> Sats:
        """Return what tickets outside the auction may still take."""
        reader = self._database.reader.orders
        before = await reader.get(order_id) if order_id else None
        return await reader.outstanding(before=before)
