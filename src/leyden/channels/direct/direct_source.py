"""The operator's seller as a source of channels."""

from leyden.base.database.stores import Stores
from leyden.channels.direct import reservations
from leyden.channels.rules import pricing
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import Channel, Quote
from leyden.channels.services import OPENING, ChannelServices, Reserve


class DirectSource:
    """The operator's seller, which opens the channel itself."""

    task = OPENING

    async def price(self, channels: ChannelServices, channel: Channel) -> Quote:
        """Return the price at the operator's terms."""
        return pricing.direct_quote(channel, channels.rules.terms)

    async def prepare(self, channels: ChannelServices, order: Order) -> Reserve:
        """Choose coins for the order; raise SoldOut if there are none.

        They are reserved if its organization may hold more.
        """
        whose, now = order.organization_id, order.created
        found = await reservations.prepare(channels, whose, order.quote, now=now)

        async def reserve(tx: Stores, order: Order) -> None:
            await reservations.reserve(tx, channels, order, found, whose=whose, now=now)

        return reserve
