"""Which source sells a channel, and for how much: quotes, each valid for ten minutes.

The source of a ticket is the one listed. A direct channel has the cheapest source that
sells it now: a quote names it, and so does the order.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from leyden.base.rules.units import Sats
from leyden.channels.rules import ledger
from leyden.channels.rules.pricing import AuctionTerms, Channel, ChannelKind, Quote
from leyden.channels.rules.sources import Source
from leyden.channels.services import ChannelServices
from leyden.errors import Malformed

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
    channels: ChannelServices, organization_id: str, channel: Channel, *, now: datetime
) -> Offer:
    """Price the channel, and compute how much credit it would use.

    The price holds for ten minutes.
    """
    of(channels, channel)
    reader = channels.database.reader
    found = await _find(channels, organization_id, channel, since=now - _FRESH)
    if found is None or not _asks_others(channels, channel):
        priced = await channels.sources[channel.kind].price(
            channels, channel, whose=organization_id
        )
        if found is None or found[0] != priced:
            async with channels.database.transaction() as tx:
                await tx.quotes.keep(organization_id, priced, quoted=now)
            found = priced, now
    priced = found[0]
    credit = await reader.ledger.balance(ledger.credit(organization_id))
    used = min(credit, priced.total_fee)
    return Offer(priced, used, found[1] + _FRESH, _source_of(channels, priced))


async def price(
    channels: ChannelServices, organization_id: str, channel: Channel, *, now: datetime
) -> Quote:
    """Return the quoted price while it is valid, otherwise the current one.

    Raise Malformed if no listed source sells the channel.
    """
    of(channels, channel)
    # Stored for a minute longer than it is valid, so that it is not rewritten each
    # time.
    since = now - channels.rules.quote_holds - _FRESH
    found = await _find(channels, organization_id, channel, since=since)
    if found:
        return found[0]
    return await channels.sources[channel.kind].price(
        channels, channel, whose=organization_id
    )


async def _find(
    channels: ChannelServices,
    organization_id: str,
    channel: Channel,
    *,
    since: datetime,
) -> tuple[Quote, datetime] | None:
    """Return the stored quote, unless its source is no longer listed."""
    found = await channels.database.reader.quotes.find(
        organization_id, channel, since=since
    )
    if found is None or _source_of(channels, found[0]) not in sold(channels):
        return None
    is_listed = not found[0].source or found[0].source in channels.lsps.listed
    return found if is_listed else None


def _asks_others(channels: ChannelServices, channel: Channel) -> bool:
    """Return whether a price is asked of others, and so not more often than needed."""
    return channel.kind is ChannelKind.DIRECT and Source.LSPS1 in sold(channels)


def _source_of(channels: ChannelServices, quote: Quote) -> Source:
    if quote.source:
        return Source.LSPS1
    if quote.channel.kind is ChannelKind.DIRECT:
        return Source.OWN
    return of(channels, quote.channel)


def of(channels: ChannelServices, channel: Channel) -> Source:
    """Return the source of a channel; raise Malformed if no listed source sells it."""
    for source in sold(channels):
        if source.kind is channel.kind:
            return source
    if channel.kind is ChannelKind.DIRECT:
        raise _no_direct("node_id" if channel.node_id else "node")
    raise Malformed("node: is required, or node_id: this platform sells no tickets")


def check_direct(channels: ChannelServices, *, field: str) -> None:
    """Raise Malformed with the field if no channels to a named node are sold."""
    if not sells_direct(channels):
        raise _no_direct(field)


def sells_direct(channels: ChannelServices) -> bool:
    """Return whether channels are sold to a node that the order names."""
    return any(each.kind is ChannelKind.DIRECT for each in sold(channels))


def sells_tickets(channels: ChannelServices) -> bool:
    """Return whether tickets are sold."""
    return any(each.kind is ChannelKind.TICKET for each in sold(channels))


async def leases(channels: ChannelServices) -> tuple[int, ...]:
    """Return the available lease durations, in blocks."""
    auction = (
        await channels.market.terms() if sells_tickets(channels) else AuctionTerms()
    )
    return auction.leases


def sold(channels: ChannelServices) -> tuple[Source, ...]:
    """Return the sources of new orders."""
    return tuple(each for each in all_sold(channels) if each.kind is not None)


def all_sold(channels: ChannelServices) -> tuple[Source, ...]:
    """Return all sources that sell, with the one that sells to wallets only."""
    missing = {
        Source.OWN: channels.seller is None,
        Source.JIT: channels.purse is None,
        Source.LSPS1: channels.payer is None,
    }
    return tuple(
        each for each in channels.rules.sources if not missing.get(each, False)
    )


def _no_direct(field: str) -> Malformed:
    return Malformed(f"{field}: this platform sells only tickets; leave this field out")
