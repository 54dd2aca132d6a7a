"""The life cycle of a channel order.

                  ┌──────REVERSED─────┐
                  v                   │
    waiting_payment ─────PAID────> creating ─TICKETED─> created ─REGISTERED─> submitted
       └─LAPSED─> expired             └─BROKE─> failed                            │
                                                              filled <──MATCHED───┘

CANCELLED is allowed wherever no call to the market is in flight.

A direct order, for a channel to a node that the buyer names, has no ticket:

    waiting_payment ─PAID─> creating ───ASKED───> submitted ─MATCHED─> filled
                              └─UNREACHED─> created ─ASKED┘└─BROKE─> failed <LOST┘

`created` waits for the buyer's node to connect. `submitted` means that a call to the
seller is in flight, so it can't be cancelled. `filled` means that the channel's
transaction is published; if another transaction spends its coins, the channel never
opens and the order fails after all.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum, auto
from typing import Self, TypedDict, Unpack

from leyden.base.rules.units import Sats
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.payments import InvoiceState, PaymentRequest
from leyden.channels.rules.pricing import ChannelKind, Quote
from leyden.errors import NotAllowed
from leyden.values import Struct, replace


class OrderStatus(StrEnum):
    """The status of an order, in the API's values."""

    WAITING_PAYMENT = auto()  # the fee is not paid yet
    EXPIRED = auto()  # the invoice lapsed unpaid
    CREATING = auto()  # paid; the sidecar ticket is being created
    CREATED = auto()  # the ticket exists; direct: the buyer's node is not connected
    SUBMITTED = auto()  # the ticket is in the auction; direct: the seller was called
    FILLED = auto()  # matched in the auction; direct: the channel is published
    FAILED = auto()  # no ticket or channel; the money was returned
    CANCELLED = auto()  # by the buyer; the money became credit


class OrderFilter(Struct, frozen=True, kw_only=True):
    """Which orders of an organization to list; by default all."""

    statuses: tuple[str, ...] = tuple(OrderStatus)
    node_id: str = ""  # "": of any node, or of none
    since: datetime | None = None
    until: datetime | None = None  # without those created at this time


ALL_ORDERS = OrderFilter()


class OrderEvent(StrEnum):
    """An event in an order's life; past tense, because events are recorded."""

    PAID = auto()  # everything is held
    REVERSED = auto()  # the chain reversed the payment before the ticket was created
    LAPSED = auto()
    TICKETED = auto()
    UNREACHED = auto()  # the buyer's node is not connected to the seller
    ASKED = auto()  # the seller is called to open the channel
    BROKE = auto()
    REGISTERED = auto()
    MATCHED = auto()
    CANCELLED = auto()
    LOST = auto()  # direct: another transaction spent a published channel's coins


Moves = Mapping[tuple[OrderStatus, OrderEvent], OrderStatus]

TICKET_MOVES: Moves = {
    (OrderStatus.WAITING_PAYMENT, OrderEvent.PAID): OrderStatus.CREATING,
    (OrderStatus.WAITING_PAYMENT, OrderEvent.LAPSED): OrderStatus.EXPIRED,
    (OrderStatus.WAITING_PAYMENT, OrderEvent.CANCELLED): OrderStatus.CANCELLED,
    (OrderStatus.CREATING, OrderEvent.TICKETED): OrderStatus.CREATED,
    (OrderStatus.CREATING, OrderEvent.BROKE): OrderStatus.FAILED,
    (OrderStatus.CREATING, OrderEvent.REVERSED): OrderStatus.WAITING_PAYMENT,
    (OrderStatus.CREATED, OrderEvent.REGISTERED): OrderStatus.SUBMITTED,
    (OrderStatus.CREATED, OrderEvent.CANCELLED): OrderStatus.CANCELLED,
    (OrderStatus.SUBMITTED, OrderEvent.MATCHED): OrderStatus.FILLED,
    (OrderStatus.SUBMITTED, OrderEvent.CANCELLED): OrderStatus.CANCELLED,
    (OrderStatus.FAILED, OrderEvent.CANCELLED): OrderStatus.CANCELLED,
}

DIRECT_MOVES: Moves = {
    (OrderStatus.WAITING_PAYMENT, OrderEvent.PAID): OrderStatus.CREATING,
    (OrderStatus.WAITING_PAYMENT, OrderEvent.LAPSED): OrderStatus.EXPIRED,
    (OrderStatus.WAITING_PAYMENT, OrderEvent.CANCELLED): OrderStatus.CANCELLED,
    (OrderStatus.CREATING, OrderEvent.UNREACHED): OrderStatus.CREATED,
    (OrderStatus.CREATING, OrderEvent.ASKED): OrderStatus.SUBMITTED,
    (OrderStatus.CREATING, OrderEvent.BROKE): OrderStatus.FAILED,
    (OrderStatus.CREATING, OrderEvent.REVERSED): OrderStatus.WAITING_PAYMENT,
    (OrderStatus.CREATED, OrderEvent.ASKED): OrderStatus.SUBMITTED,
    (OrderStatus.CREATED, OrderEvent.BROKE): OrderStatus.FAILED,
    (OrderStatus.CREATED, OrderEvent.REVERSED): OrderStatus.WAITING_PAYMENT,
    (OrderStatus.CREATED, OrderEvent.CANCELLED): OrderStatus.CANCELLED,
    (OrderStatus.SUBMITTED, OrderEvent.UNREACHED): OrderStatus.CREATED,
    (OrderStatus.SUBMITTED, OrderEvent.BROKE): OrderStatus.FAILED,
    (OrderStatus.SUBMITTED, OrderEvent.MATCHED): OrderStatus.FILLED,
    (OrderStatus.FILLED, OrderEvent.LOST): OrderStatus.FAILED,
    (OrderStatus.FAILED, OrderEvent.CANCELLED): OrderStatus.CANCELLED,
}

MOVES: Mapping[ChannelKind, Moves] = {
    ChannelKind.TICKET: TICKET_MOVES,
    ChannelKind.DIRECT: DIRECT_MOVES,
}

FINAL = frozenset(OrderStatus) - {status for status, _ in TICKET_MOVES}

# The held money was used or returned; a later payment becomes credit.
ENDED = FINAL | {OrderStatus.FAILED}

# The ticket exists and belongs to the buyer.
TICKETED = frozenset({OrderStatus.CREATED, OrderStatus.SUBMITTED, OrderStatus.FILLED})


class OrderChanges(TypedDict, total=False):
    """The fields of an order that may change after creation."""

    status: OrderStatus
    credit_refund: Sats
    paid_at: datetime | None
    invoice: InvoiceState | None
    htlc_sats: Sats
    offered: bool
    sealed_ticket: bytes | None
    ticket_ref: str
    order_nonce: str
    htlc_expires: int
    channel_point: str


class Order(Struct, frozen=True, kw_only=True):
    """An order of one channel."""

    id: str
    organization_id: str
    status: OrderStatus
    created: datetime
    expires: datetime
    quote: Quote
    credit_used: Sats = Sats(0)
    charged: Sats = Sats(0)  # to a corporate account, instead of being paid
    credit_refund: Sats = Sats(0)
    paid_at: datetime | None = None
    onchain_address: str = ""
    lightning_invoice: str = ""
    payment_hash: str = ""
    invoice: InvoiceState | None = None  # as we last booked it
    htlc_sats: Sats = Sats(0)  # the amount of the HTLC that paid it
    offered: bool = False  # a ticket was requested from the market, and may exist
    sealed_ticket: bytes | None = None  # a bearer instrument, so never in plaintext
    ticket_ref: str = ""  # the market's id of the ticket
    order_nonce: str = ""
    htlc_expires: int = 0  # the block at which the HTLC expires
    channel_point: str = ""  # direct: once both sides have signed the transaction

    def with_changes(self, **changes: Unpack[OrderChanges]) -> Self:
        """Return a copy of the order with these changes."""
        return replace(self, **changes)

    @property
    def paid(self) -> bool:
        """Whether the order was fully paid at some time."""
        return self.paid_at is not None

    @property
    def kind(self) -> ChannelKind:
        """Whether the order is for a ticket or for a direct channel."""
        return self.quote.channel.kind

    @property
    def moves(self) -> Moves:
        """The table of moves that the order follows."""
        return MOVES[self.kind]

    @property
    def has_open_ticket(self) -> bool:
        """Whether the order has a ticket that is not filled yet."""
        waits = self.status in {OrderStatus.CREATED, OrderStatus.SUBMITTED}
        return waits and self.kind is ChannelKind.TICKET

    @property
    def purchase_unknown(self) -> bool:
        """Whether nobody knows if its channel was bought from another LSP.

        The order is submitted before that LSP is paid, and its own payment settled
        after that. So the database was restored from before, and forgot the purchase.
        """
        waits = self.status in {OrderStatus.CREATING, OrderStatus.CREATED}
        settled = self.invoice is InvoiceState.SETTLED
        return bool(self.quote.source) and waits and settled

    def may(self, event: OrderEvent) -> bool:
        """Return whether this event is allowed now."""
        return (self.status, event) in self.moves

    @property
    def total_fee(self) -> Sats:
        """The whole price."""
        return self.quote.total_fee

    @property
    def amount_due(self) -> Sats:
        """The price less credit; zero for a cancelled order."""
        if self.status is OrderStatus.CANCELLED:
            return Sats(0)
        return Sats(self.total_fee - self.credit_used)

    @property
    def held_htlc(self) -> Sats:
        """The sum of held HTLCs, neither settled nor cancelled back."""
        return self.htlc_sats if self.invoice is InvoiceState.ACCEPTED else Sats(0)

    def unused_fee(self, lease: Lease) -> Sats:
        """Return the unused part of the auction's share that the buyer gets back."""
        if self.quote.keeps_unused_fee:
            return Sats(0)
        return Sats(max(0, self.quote.auction_share - lease.cost))

    @property
    def payment_request(self) -> PaymentRequest | None:
        """The payment request; None for an order that needed no payment."""
        if not self.payment_hash:
            return None
        return PaymentRequest(
            order_id=self.id,
            sats=self.to_be_paid,
            onchain_address=self.onchain_address,
            lightning_invoice=self.lightning_invoice,
            payment_hash=self.payment_hash,
        )

    @property
    def to_be_paid(self) -> Sats:
        """The amount to pay over Lightning or on-chain."""
        return Sats(self.total_fee - self.credit_used - self.charged)


def advance(order: Order, event: OrderEvent, **changes: Unpack[OrderChanges]) -> Order:
    """Return the order after an event, with changes; raise NotAllowed if not allowed.

    Only this function sets a status.
    """
    try:
        changes["status"] = order.moves[order.status, event]
    except KeyError:
        message = f"an order that is {order.status} cannot be {event}"
        raise NotAllowed(message) from None
    return order.with_changes(**changes)
