"""The sources of channels: each prices channels, and reserves what they need.

The source of an order is the first one listed that sells its channel. As long as there
is one of each kind, the kind of an order determines it. Another source of direct
channels, such as another LSP, needs a class here and a column of orders.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from leyden.base.database.stores import Stores
from leyden.channels.direct.direct_source import DirectSource
from leyden.channels.direct.reservations import Reservation
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import AuctionTerms, Channel, ChannelKind, Quote
from leyden.channels.rules.sources import Source
from leyden.channels.shop import Shop
from leyden.channels.tickets.ticket_source import TicketSource
from leyden.errors import Malformed
from leyden.values import Struct


class ChannelSource(Protocol):
    """A source of channels: what differs between orders of one kind and another."""

    task: str  # due once an order is paid
    account: str  # in the ledger, for what the channels cost
    payee: str  # the same in words

    async def price(self, channel: Channel) -> Quote:
        """Return the channel's price; raise Malformed for an impossible field."""
        ...

    async def prepare(self, order: Order) -> Reservation | None:
        """Check, before a payment is requested, that the channel is available.

        Raise SoldOut if it is not. Pass the result to `reserve`.
        """
        ...

    async def reserve(
        self, tx: Stores, order: Order, reservation: Reservation | None
    ) -> None:
        """Reserve it in the order's own transaction; raise if it is no longer free."""
        ...


SOURCES: Final[Mapping[ChannelKind, type[TicketSource] | type[DirectSource]]] = {
    ChannelKind.TICKET: TicketSource,
    ChannelKind.DIRECT: DirectSource,
}


class Chosen(Struct, frozen=True):
    """The source of a channel, and its name."""

    name: Source
    source: ChannelSource


def of(shop: Shop, channel: Channel) -> Chosen:
    """Return the source of a channel; raise Malformed if no listed source sells it."""
    for name in sold(shop):
        if name.kind is channel.kind:
            return Chosen(name, SOURCES[name.kind](shop))
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
