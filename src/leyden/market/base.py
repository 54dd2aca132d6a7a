"""Where capacity is bought.

As with payments there are three answers, and the third, not known, is the exception
MarketAway. Every method may be called any number of times.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from leyden.domain.pricing import AuctionTerms, Quote
from leyden.domain.tickets import NoTicket, Progress, Ticket


class Market(Protocol):
    """An auction that makes sidecar tickets and matches them with sellers."""

    async def terms(self) -> AuctionTerms:
        """Tell what the auction asks for; cheap enough for every quote."""
        ...

    async def offer(self, order_id: str, quote: Quote) -> Ticket | NoTicket:
        """Make the ticket for an order.

        The second call finds the ticket that the first one made, and makes no other.
        """
        ...

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        """Tell where these tickets stand; one that is not told of is not known."""
        ...

    async def withdraw(self, order_id: str, ref: str) -> bool:
        """Cancel the order's ticket, known by its ref or, without one, by the order.

        True once it cannot be filled any more, or never was. False: it is filled.
        """
        ...
