"""What the provider has to know of our orders: it sets nothing aside by itself.

A poold reserves money for a ticket only once somebody has registered it. What those
before that may take is known from the orders, so nothing is kept twice.
"""

from typing import Protocol

from leyden.domain.pricing import Quote
from leyden.domain.units import Sats


class Book(Protocol):
    """Tickets and orders, as our database has them."""

    async def outstanding(self, order_id: str | None) -> Sats:
        """Give what tickets outside the auction may still take from the account.

        With an order, of tickets that are there and of orders that were paid before
        it; otherwise of all that are paid.
        """
        ...


def may_take(quote: Quote) -> Sats:
    """Give what a ticket takes from the account at the most."""
    return Sats(quote.pool_fee + quote.channel.self_chan_balance)
