"""Quotes: the prices of channels, each valid for ten minutes."""

from datetime import datetime, timedelta
from typing import NamedTuple

from leyden.base.rules.units import Sats
from leyden.channels import sources
from leyden.channels.rules import ledger
from leyden.channels.rules.pricing import Channel, Quote
from leyden.channels.rules.sources import Source
from leyden.channels.shop import Shop

# A stored quote is returned again if it is newer than this.
_FRESH = timedelta(minutes=1)


class Offer(NamedTuple):
    """The price of a channel for an organization."""

    quote: Quote
    credit_used: Sats
    fresh_until: datetime
    """Until when the stored quote is returned again."""
    source: Source


async def quote(
    shop: Shop, organization_id: str, channel: Channel, *, now: datetime
) -> Offer:
    """Price the channel, and compute how much credit it would use.

    The price holds for ten minutes.
    """
    source = sources.of(shop, channel)
    priced = await shop.sources[channel.kind].price(shop, channel)
    reader = shop.database.reader
    found = await reader.quotes.find(organization_id, channel, since=now - _FRESH)
    if found is None or found[0] != priced:
        async with shop.database.transaction() as tx:
            await tx.quotes.keep(organization_id, priced, quoted=now)
        found = priced, now
    credit = await reader.ledger.balance(ledger.credit(organization_id))
    used = min(credit, priced.total_fee)
    return Offer(priced, used, found[1] + _FRESH, source)


async def price(
    shop: Shop, organization_id: str, channel: Channel, *, now: datetime
) -> Quote:
    """Return the quoted price while it is valid, otherwise the current one."""
    # Stored for a minute longer than it is valid, so that it is not rewritten each
    # time.
    since = now - shop.rules.quote_holds - _FRESH
    found = await shop.database.reader.quotes.find(
        organization_id, channel, since=since
    )
    if found:
        return found[0]
    return await shop.sources[channel.kind].price(shop, channel)
