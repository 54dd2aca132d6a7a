"""Tickets as a source of channels."""

import logging

from leyden.domain import ledger, pricing
from leyden.domain.orders import Order
from leyden.domain.pricing import Channel, Quote
from leyden.errors import MarketAway, SoldOut
from leyden.services.channels.reservations import Reservation
from leyden.services.channels.shop import TICKET, Shop
from leyden.storage.stores import Stores

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
