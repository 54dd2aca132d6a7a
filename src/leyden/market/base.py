"""Where capacity is bought.

As with payments there are three answers, and the third, not known, is the exception
MarketAway. Every method may be called any number of times.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from leyden.domain.auction import AuctionAccount
from leyden.domain.pricing import AuctionTerms, Quote
from leyden.domain.tickets import NoTicket, Progress, Ticket


class Market(Protocol):
    """An auction that makes sidecar tickets and matches them with sellers."""

    async def terms(self) -> AuctionTerms:
        """Tell what the auction asks for; cheap enough for every quote."""
        ...

    async def ready(self, quote: Quote) -> None:
        """Make sure, before money is asked for, that it could be bought now.

        SoldOut when what we have at the auction does not suffice.
        """
        ...

    async def offer(self, order_id: str, quote: Quote) -> Ticket | NoTicket:
        """Make the ticket for an order.

        The second call finds the ticket that the first one gave. Where the answer to
        the first was lost it may make another: the order shows one of them alone.
        """
        ...

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        """Return where these tickets stand, MISSING for those the market does not know.

        How one stands that is not told of is not known yet.
        """
        ...

    async def withdraw(self, order_id: str, ref: str) -> bool:
        """Cancel the order's ticket, known by its ref or, without one, by the order.

        True once it cannot be filled any more, or never was. False: it is filled. What
        becomes of a ref that the market does not know is not known.
        """
        ...


class Account(Protocol):
    """The coins at an auction that has to have them before anything is bought."""

    async def find(self) -> AuctionAccount:
        """Give the account; MarketAway when there is none."""
        ...

    async def height(self) -> int:
        """Give the height of the chain."""
        ...

    async def renew(self, *, blocks: int, fee_sat_per_kw: int) -> AuctionAccount:
        """Let the account live for so many blocks from now; MarketRefused says no."""
        ...

    async def close(self) -> None:
        """Let go of the auction, the market's connection too."""
        ...
