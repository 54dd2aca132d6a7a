"""Channels as they are wished for; orders, coupons and money as the API shows them."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from leyden.base.rules.times import to_iso
from leyden.base.rules.units import EVERY_SAT, Sats
from leyden.channels.leased_channels import LeasedChannel
from leyden.channels.money.rules.coupons import Coupon
from leyden.channels.rules.customer_ledger import CustomerEntry
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import (
    USUAL_LEASE,
    Channel,
    ChannelKind,
    NodeTier,
    Quote,
)
from leyden.channels.rules.sources import Source
from leyden.schemas.credit import CouponAnswer, LedgerEntry
from leyden.schemas.flow import CancelledOrder, OrderAnswer, QuoteAnswer

Amount = Annotated[int, Meta(ge=-EVERY_SAT, le=EVERY_SAT)]


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


def quoted(quote: Quote, credit_used: Sats, source: Source) -> QuoteAnswer:
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


def ordered(
    order: Order, ticket: str, channel: LeasedChannel | None, seller_uri: str = ""
) -> OrderAnswer:
    """Convert an order to its response for the organization."""
    fields = _fields(order, ticket) | {"credit_used": order.credit_used}
    asked_for = order.quote.channel
    if order.kind is ChannelKind.DIRECT:
        fields |= {
            "node": asked_for.node_key,
            "node_id": asked_for.node_id or msgspec.UNSET,
            "seller_uri": seller_uri,
            "announce": asked_for.announce,
            "zero_conf": asked_for.zero_conf,
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
    )


def cancelled(order: Order, ticket: str) -> CancelledOrder:
    """Convert a cancelled order to its response."""
    return CancelledOrder(**_fields(order, ticket), credit_refund=order.credit_refund)


def coupon(shown: Coupon) -> CouponAnswer:
    """Convert a coupon to its response."""
    return CouponAnswer(amount=shown.sats, order_id=shown.id, claimed=shown.claimed)


def entry(shown: CustomerEntry) -> LedgerEntry:
    """Convert a ledger entry to its response for the organization."""
    return LedgerEntry(
        id=shown.number,
        time=to_iso(shown.at),
        what=shown.kind,
        source=shown.source,
        target=shown.target,
        amount=shown.sats,
        order_id=shown.order_id,
        note=shown.note,
    )


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
