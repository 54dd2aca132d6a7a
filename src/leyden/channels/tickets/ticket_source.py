"""Tickets as a source of channels."""

import logging

from leyden.base.database.stores import Stores
from leyden.channels.direct.reservations import Reservation
from leyden.channels.rules import ledger, pricing
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import Channel, Quote
from leyden.channels.shop import TICKET, Shop
from leyden.errors import MarketAway, SoldOut

log = logging.getLogger(__name__)


class TicketSource:
    """An auction, whose tickets any node can register."""

    task = TICKET
    account = ledger.AUCTION
    payee = "auction"

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    async def price(self, channel: Channel) -> Quote:
        """Return the price at the auction's current terms."""
        auction = await self._shop.market.terms()
        return pricing.quote(channel, self._shop.rules.terms, auction)

    async def prepare(self, order: Order) -> Reservation | None:
        """Raise SoldOut if nobody sells; accept the order if the auction is away."""
        try:
            await self._shop.market.ready(order.quote)
        except SoldOut:
            raise
        except MarketAway as error:
            log.warning(
                "accepted an order while the auction is unavailable",
                extra={"why": str(error)},
            )
        return None

    async def reserve(
        self, tx: Stores, order: Order, reservation: Reservation | None
    ) -> None:
        """Reserve nothing: an auction has no reservations."""
