"""Channels to nodes that orders name: from the seller, or from other LSPs."""

import asyncio

from leyden.base.database.stores import Stores
from leyden.channels import sources
from leyden.channels.direct import reservations, zero_conf
from leyden.channels.direct.buying import lsp_source
from leyden.channels.rules import pricing
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import Channel, Quote
from leyden.channels.rules.sources import Source
from leyden.channels.services import OPENING, ChannelServices, Reserve
from leyden.errors import LeydenError


class DirectSource:
    """The operator's seller, which opens the channel itself, and other LSPs."""

    task = OPENING

    async def price(
        self, channels: ChannelServices, channel: Channel, *, whose: str
    ) -> Quote:
        """Return the lowest price of those who can sell the channel now.

        If nobody else is asked, it is the seller's, whether it can sell now or not.
        """
        own = pricing.direct_quote(channel, channels.rules.terms)
        sold = sources.sold(channels)
        if Source.LSPS1 not in sold:
            return own
        lsp_source.count(channels, whose)
        asked = [
            lsp_source.price(channels, url, channel) for url in channels.lsps.listed
        ]
        if Source.OWN in sold:
            asked.append(_if_sold(channels, own, whose))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        offers = [each for each in answers if isinstance(each, Quote)]
        for each in answers:
            if isinstance(each, BaseException) and not (
                offers and isinstance(each, LeydenError)
            ):
                raise each
        return min(offers, key=lambda each: each.total_fee)

    async def prepare(self, channels: ChannelServices, order: Order) -> Reserve:
        """Choose coins for the order; raise SoldOut if there are none.

        They are reserved if its organization may hold more.
        """
        if order.quote.source:
            return await lsp_source.prepare(channels, order)
        whose, now = order.organization_id, order.created
        found = await reservations.prepare(channels, whose, order.quote, now=now)

        async def reserve(tx: Stores, order: Order) -> None:
            await reservations.reserve(tx, channels, order, found, whose=whose, now=now)

        return reserve


async def _if_sold(channels: ChannelServices, own: Quote, whose: str) -> Quote:
    """Return the seller's price; raise if it could not sell now."""
    if own.channel.zero_conf:
        await zero_conf.check_seller(channels, own.channel.node_key)
    await reservations.prepare(channels, whose, own, now=channels.clock())
    return own
