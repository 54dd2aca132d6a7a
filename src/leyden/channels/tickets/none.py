"""The market of an installation that buys no tickets.

Orders of before may have some still: their questions go unanswered until the auction is
configured again, and a payment that is held for a ticket goes back in time.
"""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from leyden.channels.rules.pricing import AuctionTerms, Quote
from leyden.channels.tickets.rules.tickets import NoTicket, Progress, Ticket
from leyden.errors import MarketAway

_AGAIN_S = 600


class NoMarket:
    """A market that never answers."""

    async def terms(self) -> AuctionTerms:
        """Raise MarketAway."""
        _refuse()

    async def ready(self, quote: Quote) -> None:  # noqa: ARG002
        """Raise MarketAway."""
        _refuse()

    async def offer(
        self,
        order_id: str,  # noqa: ARG002
        quote: Quote,  # noqa: ARG002
    ) -> Ticket | NoTicket:
        """Raise MarketAway."""
        _refuse()

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        """Return {} for no tickets; otherwise raise MarketAway."""
        if refs:
            _refuse()
        return {}

    async def withdraw(self, order_id: str, ref: str) -> bool:  # noqa: ARG002
        """Raise MarketAway."""
        _refuse()


def _refuse() -> NoReturn:
    raise MarketAway(
        "this platform sells no tickets: its setting market lists no auction",
        retry_after_s=_AGAIN_S,
    )
