"""Which source sells a channel.

The source of an order is the first one listed that sells its channel. As long as there
is one of each kind, the kind of an order determines it. Another source of direct
channels, such as another LSP, needs a `ChannelSource` and a column of orders.
"""

from leyden.channels.rules.pricing import AuctionTerms, Channel, ChannelKind
from leyden.channels.rules.sources import Source
from leyden.channels.shop import Shop
from leyden.errors import Malformed


def of(shop: Shop, channel: Channel) -> Source:
    """Return the source of a channel; raise Malformed if no listed source sells it."""
    for source in sold(shop):
        if source.kind is channel.kind:
            return source
    if channel.kind is ChannelKind.DIRECT:
        raise _no_direct("node_id" if channel.node_id else "node")
    raise Malformed("node: is required, or node_id: this platform sells no tickets")


def check_direct(shop: Shop, *, field: str) -> None:
    """Raise Malformed with the field if no channels to a named node are sold."""
    if not sells_direct(shop):
        raise _no_direct(field)


def sells_direct(shop: Shop) -> bool:
    """Return whether channels are sold to a node that the order names."""
    return any(each.kind is ChannelKind.DIRECT for each in sold(shop))


def sells_tickets(shop: Shop) -> bool:
    """Return whether tickets are sold."""
    return any(each.kind is ChannelKind.TICKET for each in sold(shop))


async def leases(shop: Shop) -> tuple[int, ...]:
    """Return the available lease durations, in blocks."""
    auction = await shop.market.terms() if sells_tickets(shop) else AuctionTerms()
    return auction.leases


def sold(shop: Shop) -> tuple[Source, ...]:
    """Return the sources of new orders."""
    return tuple(
        each
        for each in shop.rules.sources
        if each is not Source.OWN or shop.seller is not None
    )


def _no_direct(field: str) -> Malformed:
    return Malformed(f"{field}: this platform sells only tickets; leave this field out")
