"""Prices of channels, and for how long each stands."""

from datetime import datetime, timedelta
from typing import NamedTuple

from leyden.domain import ledger
from leyden.domain.pricing import Channel, Quote
from leyden.domain.sources import Source
from leyden.domain.units import Sats
from leyden.services.channels import sources
from leyden.services.channels.shop import Shop
from leyden.services.channels.sources import ChannelSource

# Asked again within this, the quote on record is as good as a new one.
_FRESH = timedelta(minutes=1)


class Offer(NamedTuple):
    """The price of a channel for an organization."""

    quote: Quote
    credit_used: Sats
    fresh_until: datetime
    """Until then the quote on record is as good as a new one."""
    source: Source


async def quote(
    shop: Shop, organization_id: str, channel: Channel, *, now: datetime
) -> Offer:
    """Price the channel, and compute how much credit it would use.

    The price holds for ten minutes.
    """
    chosen = sources.of(shop, channel)
    priced = await chosen.source.price(channel)
    reader = shop.database.reader
    found = await reader.quotes.find(organization_id, channel, since=now - _FRESH)
    if found is None or found[0] != priced:
        async with shop.database.transaction() as tx:
            await tx.quotes.keep(organization_id, priced, quoted=now)
        found = priced, now
    credit = await reader.ledger.balance(ledger.credit(organization_id))
    used = min(credit, priced.total_fee)
    return Offer(priced, used, found[1] + _FRESH, chosen.name)


async def price(
    shop: Shop,
    source: ChannelSource,
    organization_id: str,
    channel: Channel,
    *,
    now: datetime,
) -> Quote:
    """Return the price that was quoted while it holds; otherwise that of now."""
    # Kept for a minute longer than it holds: it is not written anew each time.
    since = now - shop.rules.quote_holds - _FRESH
    found = await shop.database.reader.quotes.find(
        organization_id, channel, since=since
    )
    return found[0] if found else await source.price(channel)
