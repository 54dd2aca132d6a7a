"""The sources of channels: each prices channels, and reserves what they need.

Once an order is paid, `checkout.start_ticket` queues a task of its source. The source
of an order is the first one listed that sells its channel. A new kind of source, such
as another LSP, needs one more class here and one more line in `_KINDS`.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, Protocol

from leyden.domain import pricing
from leyden.domain.orders import Order
from leyden.domain.pricing import AuctionTerms, Channel, ChannelKind, Quote
from leyden.domain.sources import Source
from leyden.errors import Malformed, MarketAway, SoldOut
from leyden.services.channels import reservations
from leyden.services.channels.reservations import Reservation
from leyden.services.channels.shop import Shop
from leyden.storage.stores import Stores
from leyden.values import Struct

log = logging.getLogger(__name__)


class ChannelSource(Protocol):
    """A source of channels."""

    async def price(self, channel: Channel) -> Quote:
        """Return the channel's price; raise Malformed for an impossible field."""
        ...

    async def prepare(
        self, organization_id: str, quote: Quote, *, now: datetime
    ) -> Reservation | None:
        """Check, before a payment is requested, that the channel is available.

        Raise SoldOut if it is not. Pass the result to `reserve`.
        """
        ...

    async def reserve(
        self, tx: Stores, order: Order, *, reservation: Reservation | None
    ) -> None:
        """Reserve it in the order's own transaction; raise if it is no longer free."""
        ...


class _Tickets:
    """An auction, whose tickets any node can register."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    async def price(self, channel: Channel) -> Quote:
        auction = await self._shop.market.terms()
        return pricing.quote(channel, self._shop.rules.terms, auction)

    async def prepare(
        self,
        organization_id: str,  # noqa: ARG002
        quote: Quote,
        *,
        now: datetime,  # noqa: ARG002
    ) -> Reservation | None:
        """Raise SoldOut if nobody sells; accept the order if the auction is away."""
        try:
            await self._shop.market.ready(quote)
        except SoldOut:
            raise
        except MarketAway as error:
            log.warning(
                "accepted an order while the auction is unavailable",
                extra={"why": str(error)},
            )
        return None

    async def reserve(
        self, tx: Stores, order: Order, *, reservation: Reservation | None
    ) -> None:
        """Reserve nothing: an auction has no reservations."""


class _Own:
    """The operator's seller, which opens the channel itself."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    async def price(self, channel: Channel) -> Quote:
        return pricing.direct_quote(channel, self._shop.rules.terms)

    async def prepare(
        self, organization_id: str, quote: Quote, *, now: datetime
    ) -> Reservation | None:
        return await reservations.prepare(self._shop, organization_id, quote, now=now)

    async def reserve(
        self, tx: Stores, order: Order, *, reservation: Reservation | None
    ) -> None:
        if reservation is not None:
            whose, now = order.organization_id, order.created
            await reservations.reserve(
                tx, self._shop, order, reservation, whose=whose, now=now
            )


_KINDS: Final[Mapping[Source, Callable[[Shop], ChannelSource]]] = {
    Source.POOL: _Tickets,
    Source.SIMULATED: _Tickets,
    Source.OWN: _Own,
}


class Chosen(Struct, frozen=True):
    """The source of a channel, and its name."""

    name: Source
    source: ChannelSource


def of(shop: Shop, channel: Channel) -> Chosen:
    """Return the source of a channel; raise Malformed if no listed source sells it."""
    for name in sold(shop):
        if name.kind is channel.kind:
            return Chosen(name, _KINDS[name](shop))
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
