"""The operator's seller as a source of channels for anybody, over LSPS1."""

from leyden.base.database.stores import Stores
from leyden.channels.direct import reservations
from leyden.channels.direct.direct_source import DirectSource
from leyden.channels.direct.lsps1 import limits
from leyden.channels.direct.lsps1.limits import Orderer
from leyden.channels.direct.reservations import Reservation
from leyden.channels.direct.rows.lsps1_orders import Lsps1Order
from leyden.channels.rules import pricing
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import Channel, Quote
from leyden.channels.shop import Lsps1Settings, Shop


class Lsps1Source(DirectSource):
    """The channel of one order over LSPS1, which reserves no coins until it is paid."""

    def __init__(
        self, shop: Shop, rules: Lsps1Settings, who: Orderer, details: Lsps1Order
    ) -> None:
        super().__init__(shop)
        self._rules, self._who, self._details = rules, who, details

    async def price(self, channel: Channel) -> Quote:
        """Return the price, of which nothing is returned."""
        return pricing.quote_in_full(channel, self._shop.rules.terms)

    async def prepare(self, order: Order) -> Reservation | None:
        """Check the limits and choose coins; raise SoldOut if there are none."""
        shop, reader = self._shop, self._shop.database.reader
        await self._check_orders(reader, order, counted=False)
        found = await reservations.prepare(shop, "", order.quote, now=order.created)
        await limits.check_coins(reader, self._rules, found.coins)
        return found

    async def reserve(
        self, tx: Stores, order: Order, reservation: Reservation | None
    ) -> None:
        """Store what only such an order has, and check the limits once more."""
        assert reservation is not None  # noqa: S101  as `prepare` returned it
        await reservations.reserve(
            tx, self._shop, order, reservation, whose="", now=order.created
        )
        await tx.lsps1_orders.add(self._details)
        # The seller's row is locked now, so counts can't change meanwhile.
        await self._check_orders(tx, order, counted=True)
        await limits.check_coins(tx, self._rules, reservation.coins)

    async def _check_orders(self, rows: Stores, order: Order, *, counted: bool) -> None:
        capacity = order.quote.channel.capacity
        await limits.check_orders(
            rows, self._shop.rules, self._who, capacity, counted=counted
        )
