"""What the ordering endpoints take and give, in the contract's own words."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from leyden.domain.coupons import Coupon
from leyden.domain.orders import Order
from leyden.domain.pricing import USUAL_LEASE, Channel, NodeTier, Quote
from leyden.domain.times import to_iso
from leyden.domain.units import EVERY_SAT, Sats
from leyden.storage.ledger import Written

Amount = Annotated[int, Meta(ge=-EVERY_SAT, le=EVERY_SAT)]
Id = Annotated[str, Meta(max_length=100)]


class ChannelWish(
    msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True
):
    """The channel to price or to order."""

    capacity: Annotated[Amount, Meta(description="Its size, in satoshis.")]
    self_chan_balance: Annotated[
        Amount, Meta(description="What is on your own side from the start.")
    ] = 0
    lease_duration_blocks: Annotated[
        Amount, Meta(description="How long it stays open, at least.")
    ] = USUAL_LEASE
    node_tier: Literal["best", "any"] = "best"
    bps: Annotated[
        Amount | msgspec.UnsetType,
        Meta(description="Your own rate for the whole lease, in 1/100 of a percent."),
    ] = msgspec.UNSET

    def channel(self) -> Channel:
        """Give it in our own words."""
        return Channel(
            capacity=Sats(self.capacity),
            self_chan_balance=Sats(self.self_chan_balance),
            lease_duration_blocks=self.lease_duration_blocks,
            node_tier=NodeTier(self.node_tier),
            bps=None if self.bps is msgspec.UNSET else self.bps,
        )


class OrderReference(msgspec.Struct, forbid_unknown_fields=True):
    """Which order."""

    order_id: Id


class CouponReference(msgspec.Struct, forbid_unknown_fields=True):
    """Which coupon."""

    coupon: Id


class OrdersQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which part of the orders."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    cursor: Annotated[
        str, Meta(max_length=100, description="next_cursor of the page before.")
    ] = ""


class LedgerQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which part of the ledger, and how it is written."""

    limit: Annotated[
        Annotated[int, Meta(ge=1, le=500)] | msgspec.UnsetType,
        Meta(description="How many; else 100, and as CSV all there are."),
    ] = msgspec.UNSET
    cursor: Annotated[
        int, Meta(ge=0, le=2**63 - 1, description="next_cursor of the page before.")
    ] = 0
    format: Annotated[
        Literal["json", "csv"] | msgspec.UnsetType,
        Meta(description="Else what the header Accept names, else json."),
    ] = msgspec.UNSET


class QuoteAnswer(msgspec.Struct):
    """What a channel costs."""

    service_fee: int
    pool_fee: int
    self_chan_balance_fee: int
    total_fee: int
    amount_due: int
    capacity: int
    self_chan_balance: int
    lease_duration_blocks: int
    rate_fixed: int
    rate_bps: int
    credit_used: int


class _OrderFields(msgspec.Struct):
    order_id: str
    creation_date: str
    status: str
    paid: bool
    order_nonce: str
    capacity: int
    self_chan_balance: int
    lease_duration_blocks: int
    node_tier: str
    rate_fixed: int
    sidecar_ticket: str
    onchain_address: str
    lightning_invoice: str
    service_fee: int
    pool_fee: int
    self_chan_balance_fee: int
    total_fee: int
    amount_due: int


class OrderAnswer(_OrderFields):
    """An order."""

    credit_used: int


class CancelledOrder(_OrderFields):
    """An order that was given up."""

    credit_refund: int


class OrdersAnswer(msgspec.Struct):
    """Orders, newest first."""

    orders: list[OrderAnswer]
    next_cursor: str


class CouponAnswer(msgspec.Struct):
    """A coupon."""

    amount: int
    order_id: str
    claimed: bool


class CouponsAnswer(msgspec.Struct):
    """All coupons, used and unused."""

    coupons: list[CouponAnswer]


class Redeemed(msgspec.Struct):
    """A coupon that became credit."""

    coupon: str
    credit: int
    coupon_amount: int


class BalanceAnswer(msgspec.Struct):
    """What the account comes to."""

    balance: Annotated[int, Meta(description="Credit less what is owed.")]
    credit: int


class LedgerEntry(msgspec.Struct):
    """One movement of money."""

    id: int
    time: str
    what: str
    source: str
    target: str
    amount: int
    order_id: str
    note: str


class LedgerAnswer(msgspec.Struct):
    """Movements of money, newest first."""

    entries: list[LedgerEntry]
    next_cursor: int


def quoted(quote: Quote, credit_used: Sats) -> QuoteAnswer:
    """Show a quote."""
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
    )


def ordered(order: Order, ticket: str) -> OrderAnswer:
    """Show an order to its organization."""
    return OrderAnswer(**_fields(order, ticket), credit_used=order.credit_used)


def cancelled(order: Order, ticket: str) -> CancelledOrder:
    """Show an order that was given up."""
    return CancelledOrder(**_fields(order, ticket), credit_refund=order.credit_refund)


def coupon(shown: Coupon) -> CouponAnswer:
    """Show a coupon."""
    return CouponAnswer(amount=shown.sats, order_id=shown.id, claimed=shown.claimed)


def entry(written: Written) -> LedgerEntry:
    """Show an entry to its organization: places by their kind, no names of people."""
    of = written.entry
    return LedgerEntry(
        id=written.number,
        time=to_iso(written.at),
        what=of.what,
        source=of.source.partition(":")[0],
        target=of.target.partition(":")[0],
        amount=of.sats,
        order_id=of.order_id or "",
        note=of.note,
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
