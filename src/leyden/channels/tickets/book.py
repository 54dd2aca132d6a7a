"""The interface to our orders that markets need.

A poold reserves money for a ticket only once the ticket is registered. What
earlier tickets may take is computed from the orders, so nothing is stored
twice.
"""

from typing import Protocol

from leyden.base.database.database import Database
from leyden.base.rules.units import Sats
from leyden.channels.rules.pricing import Quote


class Book(Protocol):
    """The tickets and orders in our database."""

    async def outstanding(self, order_id: str | None) -> Sats:
        """Return what tickets outside the auction may still take.

        That is money of the account. With an order, those are existing tickets and
        orders paid before it; otherwise all that are paid.
        """
        ...


def may_take(quote: Quote) -> Sats:
    """Return the most that a ticket takes from the account."""
    return Sats(quote.pool_fee + quote.channel.self_chan_balance)


class OrderBook:
    """The order book of a market, derived from stored orders."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def outstanding(self, order_id: str | None) -> Sats:
        """Return what tickets outside the auction may still take."""
        reader = self._database.reader.orders
        before = await reader.get(order_id) if order_id else None
        return await reader.outstanding(before=before)
