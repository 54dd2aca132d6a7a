"""The interface of markets, where capacity is bought.

As with payments there are three answers: yes, no, and unknown, which is the
exception MarketAway. Every method may be called any number of times.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from leyden.channels.rules.pricing import AuctionTerms, Quote
from leyden.channels.tickets.rules.auction import AuctionAccount
from leyden.channels.tickets.rules.tickets import NoTicket, Progress, Ticket


class Market(Protocol):
    """An auction that creates sidecar tickets and matches them with sellers."""

    async def terms(self) -> AuctionTerms:
        """Return the auction's terms; cheap enough for every quote."""
        ...

    async def ready(self, quote: Quote) -> None:
        """Check, before a payment is requested, that the channel can be bought.

        Raise SoldOut if our Pool account does not suffice.
        """
        ...

    async def offer(self, order_id: str, quote: Quote) -> Ticket | NoTicket:
        """Create the ticket for an order.

        A second call returns the first one's ticket. If the first answer was lost,
        the second call may create another: the order shows only one of them.
        """
        ...

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        """Return the progress of these tickets, MISSING for those the market lacks.

        The progress of a ticket that is left out is not known yet.
        """
        ...

    async def withdraw(self, order_id: str, ref: str) -> bool:
        """Cancel the order's ticket, found by its ref or else by the order.

        Return True once it cannot be filled any more, or never could be, and False
        if it is filled. The state of a ref that the market does not know is
        unknown.
        """
        ...


class AuctionDeposit(Protocol):
    """The coins that an auction must hold before anything is bought."""

    async def find(self) -> AuctionAccount:
        """Return the account; raise MarketAway if there is none."""
        ...

    async def height(self) -> int:
        """Return the chain's height."""
        ...

    async def renew(self, *, blocks: int, fee_sat_per_kw: int) -> AuctionAccount:
        """Extend the account's expiry; raise MarketRefused if refused.

        The new expiry is `blocks` blocks from now.
        """
        ...

    async def close(self) -> None:
        """Close the connection to the auction, the market's too."""
        ...
