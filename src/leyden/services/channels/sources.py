"""Where channels come from: each source prices them, and reserves what they need.

What follows once an order is paid is a task of each source's own, which
`checkout.start_ticket` begins. An order is of the first source listed that sells its
channel. Another kind, an LSP that sells to us, say, is one more class here and one more
line of `_KINDS`.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, Protocol

from leyden.domain import pricing, sources
from leyden.domain.orders import Order
from leyden.domain.pricing import AuctionTerms, Channel, Quote
from leyden.domain.sources import Source
from leyden.errors import Malformed, MarketAway, SoldOut
from leyden.services.channels import reservations
from leyden.services.channels.reservations import Reservation
from leyden.services.channels.shop import Shop
from leyden.storage.stores import Stores
from leyden.values import Struct

log = logging.getLogger(__name__)


class ChannelSource(Protocol):
    """A source, asked by whoever orders."""

    async def price(self, channel: Channel) -> Quote:
        """Return the channel's price; raise which field is impossible and why."""
        ...

    async def prepare(
        self, organization_id: str, quote: Quote, *, now: datetime
    ) -> Reservation | None:
        """Check, before a payment is requested, that the channel can be had.

        Raise SoldOut if it cannot. What is returned is reserved with the order.
        """
        ...

    async def reserve(
        self, tx: Stores, order: Order, *, reservation: Reservation | None
    ) -> None:
        """Reserve it in the order's own transaction; raise if it is taken."""
        ...


class _Tickets:
    """An auction, whose tickets anybody may register."""

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
        """Raise SoldOut if nobody sells; accept the order if nobody answers."""
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
        """Reserve nothing: the auction sells to whoever comes."""


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
    """Return the source of a channel; raise Malformed if none that is listed has it."""
    to = channel.destination
    for name in sold(shop):
        if (name in sources.OF_TICKETS) is (to is None):
            return Chosen(name, _KINDS[name](shop))
    if to is not None:
        raise _no_direct("node_id" if to.node_id else "node")
    raise Malformed("node: is required, or node_id: this platform sells no tickets")


def check_direct(shop: Shop, *, field: str) -> None:
    """Raise Malformed with the field if no channels to a named node are sold."""
    if not sells_direct(shop):
        raise _no_direct(field)


def sells_direct(shop: Shop) -> bool:
    """Return whether channels are sold to a node that the order names."""
    return any(each not in sources.OF_TICKETS for each in sold(shop))


def sells_tickets(shop: Shop) -> bool:
    """Return whether tickets are sold."""
    return any(each in sources.OF_TICKETS for each in sold(shop))


async def leases(shop: Shop) -> tuple[int, ...]:
    """Return the lifetimes that are on offer, in blocks."""
    auction = await shop.market.terms() if sells_tickets(shop) else AuctionTerms()
    return auction.leases


def sold(shop: Shop) -> tuple[Source, ...]:
    """Return the sources that new orders are of."""
    return tuple(
        each
        for each in shop.rules.sources
        if each is not Source.OWN or shop.seller is not None
    )


def _no_direct(field: str) -> Malformed:
    return Malformed(f"{field}: this platform sells only tickets; leave this field out")
