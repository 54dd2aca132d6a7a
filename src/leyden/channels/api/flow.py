"""The endpoints of orders: thin handlers around the services."""

import base64
import binascii
import re
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta

from leyden.base.http.operations import Request
from leyden.base.rules.times import from_us, to_iso, to_us
from leyden.base.rules.units import MAX_SATS, Sats
from leyden.channels import leased_channels, orders, sources
from leyden.channels.direct import destinations, extensions, reservations
from leyden.channels.direct.rules.extensions import (
    SUFFIX,
    Extension,
    ExtensionStatus,
)
from leyden.channels.leased_channels import LeasedChannel
from leyden.channels.rules.orders import Order, OrderFilter, OrderStatus
from leyden.channels.rules.pricing import (
    USUAL_LEASE,
    Channel,
    ChannelKind,
    NodeTier,
    Quote,
)
from leyden.channels.rules.sources import Source
from leyden.channels.services import ChannelServices
from leyden.channels.tickets.ticket_source import open_ticket, wait_for_ticket
from leyden.errors import Malformed, TreasuryAway
from leyden.schemas.flow import (
    AutoExtend,
    CancelledOrder,
    ExtensionAnswer,
    ExtensionQuoteAnswer,
    ExtensionsAnswer,
    OrderAnswer,
    OrderReference,
    OrdersAnswer,
    OrdersQuery,
    QuoteAnswer,
    WantedAutoExtend,
    WantedExtension,
    WantedExtensionQuote,
)

# Held to what is given out: a NUL in an id, say, is more than PostgreSQL takes.
_POSITION = re.compile(rb"([0-9]{1,18}) ([0-9A-Za-z-]{1,60})")
Amount = Annotated[int, Meta(ge=-MAX_SATS, le=MAX_SATS)]


class ChannelWish(
    msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True
):
    """The channel to price or order."""

    capacity: Annotated[
        Amount, Meta(description="Capacity of the channel, in satoshis.")
    ]
    self_chan_balance: Annotated[
        Amount, Meta(description="Your starting balance, in satoshis.")
    ] = 0
    lease_duration_blocks: Annotated[
        Amount, Meta(description="Minimum lifetime, in blocks.")
    ] = USUAL_LEASE
    node_tier: Annotated[
        Literal["best", "any"],
        Meta(description="Sellers to accept: `best` or `any`."),
    ] = "best"
    bps: Annotated[
        Amount | msgspec.UnsetType,
        Meta(description="Maximum premium for the lease, in 1/100 of a percent."),
    ] = msgspec.UNSET

    node: Annotated[
        str,
        Meta(
            max_length=400,
            description=(
                "The node that gets the channel: its public key, or "
                "`PUBLIC-KEY@HOST:PORT`. Such an order has no ticket."
            ),
        ),
    ] = ""
    node_id: Annotated[
        str,
        Meta(
            max_length=100,
            description=(
                "The node that gets the channel: the id of a node in your organization."
            ),
        ),
    ] = ""
    announce: Annotated[
        bool,
        Meta(description="With a node: announce the channel to the network."),
    ] = False
    zero_conf: Annotated[
        bool,
        Meta(
            description=(
                "With a node: make the channel usable before it confirms. The node's "
                "lnd must accept such channels, and the channel is private."
            )
        ),
    ] = False

    def channel(self) -> Channel:
        """Convert the request to a channel, of which `node` is not resolved yet."""
        return Channel(
            capacity=Sats(self.capacity),
            self_chan_balance=Sats(self.self_chan_balance),
            lease_duration_blocks=self.lease_duration_blocks,
            node_tier=NodeTier(self.node_tier),
            bps=None if self.bps is msgspec.UNSET else self.bps,
            node_id=self.node_id,
            announce=self.announce,
            zero_conf=self.zero_conf,
        )


async def quote(request: Request, body: ChannelWish) -> QuoteAnswer:
    """Return a quote."""
    channels, organization_id = _channels(request), request.principal.organization_id
    channel = await _channel(channels, organization_id, body)
    offer = await sources.quote(channels, organization_id, channel, now=request.now)
    return _quoted(offer.quote, offer.credit_used, offer.source)


async def create(request: Request, body: ChannelWish) -> OrderAnswer:
    """Create an order.

    If credit or the corporate account covers the full price, the response
    includes the ticket. With `node` or `node_id` there is no ticket: the channel is
    opened to that node.
    """
    channels = _channels(request)
    organization_id = request.principal.organization_id
    channel = await _channel(channels, organization_id, body)
    order = await orders.create(
        channels,
        organization_id,
        f"{request.key}{orders.SUFFIX}",
        channel,
        actor=request.principal.actor,
        now=request.now,
    )
    if order.paid:
        order = await wait_for_ticket(channels, order)
    return await _ordered(channels, order)


async def status(request: Request, body: OrderReference) -> OrderAnswer:
    """Return an order, which the body names."""
    return await _order(request, body.order_id)


async def get(request: Request) -> OrderAnswer:
    """Return an order."""
    return await _order(request, request.path["order_id"])


async def _order(request: Request, order_id: str) -> OrderAnswer:
    channels = _channels(request)
    organization_id = request.principal.organization_id
    return await _ordered(
        channels, await orders.get(channels, organization_id, order_id)
    )


async def cancel(request: Request, body: OrderReference) -> CancelledOrder:
    """Cancel an order.

    What was paid becomes credit. A second call has no further effect.
    """
    channels = _channels(request)
    order = await orders.cancel(
        channels,
        request.principal.organization_id,
        body.order_id,
        actor=request.principal.actor,
        now=request.now,
    )
    return _cancelled(order, open_ticket(channels, order))


async def quote_extension(
    request: Request, body: WantedExtensionQuote
) -> ExtensionQuoteAnswer:
    """Return the price of extending an order's lease.

    Only channels to a node that the order named can be extended, while they are open.
    """
    offer = await extensions.quote(
        _channels(request),
        request.principal.organization_id,
        request.path["order_id"],
        body.lease_duration_blocks,
    )
    paid_by = offer.paid_by
    return ExtensionQuoteAnswer(
        order_id=offer.order.id,
        lease_duration_blocks=offer.blocks,
        service_fee=offer.service_fee,
        premium=offer.premium,
        total_fee=offer.total_fee,
        credit_used=paid_by.credit_used if paid_by else 0,
        amount_due=0 if paid_by else offer.total_fee,
        lease_ends_block=offer.ends,
    )


async def extend(request: Request, body: WantedExtension) -> ExtensionAnswer:
    """Extend an order's lease.

    If credit and the corporate account cover the price, the lease is extended at once.
    Otherwise the response has an invoice for the whole price, and the lease is
    extended once it is paid.
    """
    made = await extensions.extend(
        _channels(request),
        request.principal.organization_id,
        request.path["order_id"],
        f"{request.key}{SUFFIX}",
        body.lease_duration_blocks,
        most=None if body.max_fee is UNSET else body.max_fee,
        actor=request.principal.actor,
        now=request.now,
    )
    return _extension(made)


async def list_extensions(request: Request) -> ExtensionsAnswer:
    """List the extensions of an order's lease."""
    channels = _channels(request)
    order = await orders.get(
        channels, request.principal.organization_id, request.path["order_id"]
    )
    found = await channels.database.reader.extensions.of_orders([order.id])
    return ExtensionsAnswer(
        extensions=[
            _extension(each)
            for each in found
            # What its node ordered over LSPS7 is that node's to pay.
            if not each.peer or each.status is ExtensionStatus.EXTENDED
        ]
    )


async def set_auto_extend(request: Request, body: WantedAutoExtend) -> OrderAnswer:
    """Extend an order's lease each time before it ends, up to a price.

    Two days before the end, the price is paid from credit and the corporate account.
    """
    return await _set_automatic(request, body.lease_duration_blocks, body.max_fee)


async def unset_auto_extend(request: Request) -> OrderAnswer:
    """Let an order's lease end. A second call has no further effect."""
    return await _set_automatic(request, 0, 0)


async def _set_automatic(request: Request, blocks: int, most: int) -> OrderAnswer:
    channels = _channels(request)
    order = await extensions.set_automatic(
        channels,
        request.principal.organization_id,
        request.path["order_id"],
        blocks=blocks,
        most=most,
        actor=request.principal.actor,
        now=request.now,
    )
    return await _ordered(channels, order)


def _extension(extension: Extension) -> ExtensionAnswer:
    return ExtensionAnswer(
        extension_id=extension.id,
        order_id=extension.order_id,
        creation_date=to_iso(extension.created),
        status=extension.status,
        lease_duration_blocks=extension.blocks,
        service_fee=extension.service_fee,
        premium=extension.premium,
        total_fee=extension.total_fee,
        credit_used=extension.credit_used,
        amount_due=extension.amount_due,
        lightning_invoice=extension.lightning_invoice,
        lease_ends_block=extension.ends,
    )


async def list_(request: Request, query: OrdersQuery) -> OrdersAnswer:
    """List orders."""
    channels = _channels(request)
    found = await orders.list_(
        channels,
        request.principal.organization_id,
        OrderFilter(
            statuses=tuple(OrderStatus) if query.status is UNSET else (query.status,),
            node_id="" if query.node_id is UNSET else query.node_id,
            since=None if query.created_after is UNSET else query.created_after,
            until=None if query.created_before is UNSET else query.created_before,
        ),
        before=_position(query.cursor),
        limit=query.limit + 1,
    )
    shown = found[: query.limit]
    leased = await leased_channels.find(channels.database.reader, shown)
    uris = await reservations.uris(channels.database.reader, shown)
    return OrdersAnswer(
        orders=[
            _shown(
                each,
                open_ticket(channels, each),
                leased.get(each.id),
                uris.get(each.id, ""),
            )
            for each in shown
        ],
        next_cursor=_cursor(shown[-1]) if len(found) > query.limit else "",
        has_more=len(found) > query.limit,
    )


async def _channel(
    channels: ChannelServices, organization_id: str, body: ChannelWish
) -> Channel:
    """Return the requested channel, with the node that gets it if it names one."""
    channel = body.channel()
    if body.node or body.node_id:
        return await destinations.resolve(
            channels, organization_id, channel, node=body.node
        )
    for field in ("announce", "zero_conf"):
        if getattr(body, field):
            raise Malformed(f"{field}: needs node or node_id")
    return channel


def _channels(request: Request) -> ChannelServices:
    if (channels := request.platform.channels) is None:
        raise TreasuryAway("this platform sells no channels", retry_after_s=3600)
    return channels


async def _ordered(channels: ChannelServices, order: Order) -> OrderAnswer:
    reader = channels.database.reader
    leased = await leased_channels.find(reader, [order])
    uris = await reservations.uris(reader, [order])
    ticket = open_ticket(channels, order)
    return _shown(order, ticket, leased.get(order.id), uris.get(order.id, ""))


def _cursor(order: Order) -> str:
    position = f"{to_us(order.created)} {order.id}"
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def _position(cursor: str) -> tuple[datetime, str] | None:
    if not cursor:
        return None
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        position = _POSITION.fullmatch(base64.b64decode(padded, b"-_", validate=True))
        if position is not None:
            return from_us(int(position[1])), position[2].decode()
    except (binascii.Error, ValueError, OverflowError):
        pass
    raise Malformed("cursor: must be the `next_cursor` of an earlier page")


def _quoted(quote: Quote, credit_used: Sats, source: Source) -> QuoteAnswer:
    """Convert a quote to its response."""
    channel = quote.channel
    return QuoteAnswer(
        service_fee=quote.service_fee,
        pool_fee=quote.pool_fee,
        self_chan_balance_fee=quote.self_chan_balance_fee,
        total_fee=quote.total_fee,
        amount_due=quote.total_fee - credit_used,
        capacity=channel.capacity,
        self_chan_balance=channel.self_chan_balance,
        lease_duration_blocks=channel.lease_duration_blocks,
        rate_fixed=quote.rate_fixed,
        rate_bps=quote.rate_bps,
        credit_used=credit_used,
        unused_pool_fee="kept" if quote.keeps_unused_fee else msgspec.UNSET,
        source=source.value,
    )


def _shown(
    order: Order, ticket: str, channel: LeasedChannel | None, seller_uri: str = ""
) -> OrderAnswer:
    """Convert an order to its response for the organization."""
    fields = _fields(order, ticket) | {"credit_used": order.credit_used}
    ordered_channel = order.quote.channel
    if order.kind is ChannelKind.DIRECT:
        fields |= {
            "node": ordered_channel.node_key,
            "node_id": ordered_channel.node_id or msgspec.UNSET,
            "seller_uri": seller_uri,
            "announce": ordered_channel.announce,
            "zero_conf": ordered_channel.zero_conf,
        }
    elif channel is not None:
        fields |= {"node": channel.node or msgspec.UNSET}
    if channel is None:
        return OrderAnswer(**fields)
    return OrderAnswer(
        **fields,
        channel_point=channel.point,
        peer=channel.peer or msgspec.UNSET,
        lease_ends=to_iso(channel.ends),
        lease_ends_block=channel.ends_at or msgspec.UNSET,
        unused_fee=channel.unused_fee,
        auto_extend=AutoExtend(channel.auto_blocks, channel.auto_most)
        if channel.auto_blocks
        else UNSET,
    )


def _cancelled(order: Order, ticket: str) -> CancelledOrder:
    """Convert a cancelled order to its response."""
    return CancelledOrder(**_fields(order, ticket), credit_refund=order.credit_refund)


def _fields(order: Order, ticket: str) -> dict[str, Any]:
    quote = order.quote
    channel = quote.channel
    return {
        "order_id": order.id,
        "creation_date": to_iso(order.created),
        "status": order.status,
        "paid": order.paid,
        "order_nonce": order.order_nonce,
        "capacity": channel.capacity,
        "self_chan_balance": channel.self_chan_balance,
        "lease_duration_blocks": channel.lease_duration_blocks,
        "node_tier": channel.node_tier,
        "rate_fixed": quote.rate_fixed,
        "sidecar_ticket": ticket,
        "onchain_address": order.onchain_address,
        "lightning_invoice": order.lightning_invoice,
        "service_fee": quote.service_fee,
        "pool_fee": quote.pool_fee,
        "self_chan_balance_fee": quote.self_chan_balance_fee,
        "total_fee": quote.total_fee,
        "amount_due": order.amount_due,
    }
