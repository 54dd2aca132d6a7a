"""What the provider has to know of our orders: it sets nothing aside by itself.

A poold reserves money for a ticket only once somebody has registered it, and it writes
no order's name on a ticket. Both are known from the orders, so nothing is kept twice.
"""

from collections.abc import Collection
from typing import Protocol

from leyden.domain.pricing import Channel, Quote
from leyden.domain.units import Sats


class Book(Protocol):
    """Tickets and orders, as our database has them."""

    async def outstanding(self, order_id: str | None) -> Sats:
        """Give what tickets outside the auction may still take from the account.

        With an order, of tickets that are there and of orders that were paid before
        it; otherwise of all that are paid.
        """
        ...

    async def owned(self, refs: Collection[str]) -> set[str]:
        """Give those of the tickets that belong to an order."""
        ...

    async def unanswered(self, channel: Channel) -> set[tuple[int, str]]:
        """Give rate and tier of all orders for such a channel that lack a ticket.

        One of them may have asked for a ticket and died before the answer.
        """
        ...


def may_take(quote: Quote) -> Sats:
    """Give what a ticket takes from the account at the most."""
    return Sats(quote.pool_fee + quote.channel.self_chan_balance)
