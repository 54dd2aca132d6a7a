"""The operator's seller as a source of channels."""

from leyden.base.database.stores import Stores
from leyden.channels.direct import reservations
from leyden.channels.direct.reservations import Reservation
from leyden.channels.rules import ledger, pricing
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import Channel, Quote
from leyden.channels.shop import OPENING, Shop


class DirectSource:
    """The operator's seller, which opens the channel itself."""

    task = OPENING
    account = ledger.SELLER
    payee = "channel"

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    async def price(self, channel: Channel) -> Quote:
        """Return the price at the operator's terms."""
        return pricing.direct_quote(channel, self._shop.rules.terms)

    async def prepare(self, order: Order) -> Reservation | None:
        """Choose coins for the order; raise SoldOut if there are none."""
        whose, now = order.organization_id, order.created
        return await reservations.prepare(self._shop, whose, order.quote, now=now)

    async def reserve(
        self, tx: Stores, order: Order, reservation: Reservation | None
    ) -> None:
        """Reserve the coins for the order, if its organization may hold more."""
        if reservation is not None:
            whose, now = order.organization_id, order.created
            await reservations.reserve(
                tx, self._shop, order, reservation, whose=whose, now=now
            )
