"""The book of tickets that the market asks for: our orders, seen from its side."""

from leyden.domain.units import Sats
from leyden.storage.database import Database


class OrderBook:
    """What is written in our orders, so that nothing is kept twice."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def outstanding(self, order_id: str | None) -> Sats:
        """Give what tickets outside the auction may still take from the account."""
        reader = self._database.reader.orders
        before = await reader.get(order_id) if order_id else None
        return await reader.outstanding(before=before)
