"""Purchases: channels that are bought from another LSP over LSPS1, for an order.

    wanted ─ORDERED─> ordered ─STARTED─> paying ─PAID─> paid ─DELIVERED─> delivered
       └─────LAPSED──────┘                 └─REFUSED─> unpaid  └─LOST─> lost

`wanted` and `ordered` cost nothing, and end with their order. `paying` is stored before
lnd is told to pay: from then on only lnd's answers lead on. `paid` means that the money
is gone; until the chain has the channel, its customer gets none.

What an LSP says is parsed here, and believed nowhere: an invoice is decoded by our lnd,
a price is compared with the quote, a channel is looked up in the chain.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Any, Final

from leyden.base.rules.units import Sats, part_per_million, rounded_up
from leyden.channels.direct.rules.wrapped import InnerInvoice
from leyden.channels.rules.payments import Outpoint
from leyden.channels.rules.pricing import Channel, Quote, Terms, check_direct, fees_of
from leyden.errors import Malformed, NotAllowed, SellerAway
from leyden.values import Struct, replace

# What a price may rise by between the quote and the payment, in ppm.
_RISE_PPM: Final = 100_000
_ROUTING_BASE: Final = 10
# The final time lock of an LSP's invoice, in blocks. For so long it can keep our money.
LONGEST_DELTA: Final = 432
# With less time left, an invoice is not paid but replaced.
SHORTEST: Final = timedelta(minutes=2)
# After so long without a channel in the chain, what was paid for it counts as lost.
# The blocks are about two days', for a clock that jumps.
LOST_AFTER: Final = timedelta(days=3)
LOST_AFTER_BLOCKS: Final = 288
# An invoice may be valid for so long: until it has expired, it is not always known
# whether it was refused, and the customer waits.
LONGEST: Final = LOST_AFTER
_WITHIN_BLOCKS: Final = 6
_SATS: Final = re.compile(r"[0-9]{1,16}")
_ID: Final = re.compile(r"[!-~]{1,64}")
_INVOICE: Final = re.compile(r"ln[a-z0-9]{10,4000}")
_URI: Final = re.compile(r"(0[23][0-9a-f]{64})@[A-Za-z0-9.:\[\]-]{3,300}")
_POINT: Final = re.compile(r"([0-9a-f]{64}):([0-9]{1,5})")
_BPS: Final = 10_000
_LARGEST: Final = 2**32 - 1


class LspPurchaseStatus(StrEnum):
    """The status of a purchase."""

    WANTED = auto()
    ORDERED = auto()  # the LSP has named its price, and nothing is paid
    PAYING = auto()  # lnd was, or will be, told to pay
    PAID = auto()  # and the channel is not in the chain yet
    DELIVERED = auto()
    UNPAID = auto()  # the payment certainly failed
    LOST = auto()  # paid for nothing


class PurchaseEvent(StrEnum):
    """An event in a purchase's life."""

    ORDERED = auto()
    LAPSED = auto()
    STARTED = auto()
    PAID = auto()
    REFUSED = auto()
    DELIVERED = auto()
    LOST = auto()


PURCHASE_MOVES: Final[
    Mapping[tuple[LspPurchaseStatus, PurchaseEvent], LspPurchaseStatus]
] = {
    (LspPurchaseStatus.WANTED, PurchaseEvent.ORDERED): LspPurchaseStatus.ORDERED,
    (LspPurchaseStatus.ORDERED, PurchaseEvent.LAPSED): LspPurchaseStatus.WANTED,
    (LspPurchaseStatus.ORDERED, PurchaseEvent.STARTED): LspPurchaseStatus.PAYING,
    (LspPurchaseStatus.PAYING, PurchaseEvent.PAID): LspPurchaseStatus.PAID,
    (LspPurchaseStatus.PAYING, PurchaseEvent.REFUSED): LspPurchaseStatus.UNPAID,
    (LspPurchaseStatus.PAID, PurchaseEvent.DELIVERED): LspPurchaseStatus.DELIVERED,
    (LspPurchaseStatus.PAID, PurchaseEvent.LOST): LspPurchaseStatus.LOST,
}

# The money is gone.
SPENT: Final = frozenset(
    {LspPurchaseStatus.PAID, LspPurchaseStatus.DELIVERED, LspPurchaseStatus.LOST}
)


class LspPurchase(Struct, frozen=True, kw_only=True):
    """A channel that is bought for an order."""

    order_id: str
    status: LspPurchaseStatus
    uri: str  # of the LSP's node, for the customer's node to connect to
    lsp_order: str = ""  # the LSP's id of it
    invoice: str = ""
    payment_hash: str = ""
    price: Sats = Sats(0)  # the invoice's amount
    routing_limit: Sats = Sats(0)
    expires: datetime | None = None  # the invoice
    height: int = 0  # of the chain when it was stored, and so before it was paid
    payer: str = ""  # the public key of the lnd that pays
    began: datetime | None = None  # to pay
    asked: int = 0  # how often lnd was told to pay, or is about to be
    routing_fee: Sats = Sats(0)  # paid
    paid_at: datetime | None = None
    channel_point: str = ""

    @property
    def cost(self) -> Sats:
        """What the purchase cost, once it is paid."""
        return Sats(self.price + self.routing_fee)

    @property
    def key(self) -> str:
        """The key of the entry that books its cost."""
        return f"purchase:{self.payment_hash}"


def advance(purchase: LspPurchase, event: PurchaseEvent, **changes: Any) -> LspPurchase:
    """Return the purchase after an event; only this sets a status."""
    try:
        status = PURCHASE_MOVES[purchase.status, event]
    except KeyError:
        message = f"a purchase that is {purchase.status} cannot be {event}"
        raise NotAllowed(message) from None
    return replace(purchase, status=status, **changes)


# What an LSP says.


class LspInfo(Struct, frozen=True, kw_only=True):
    """What an LSP sells."""

    uri: str
    smallest: Sats
    largest: Sats
    confirmations: int  # the fewest that may be asked for
    within_blocks: int
    longest_blocks: int

    def check(self, channel: Channel) -> None:
        """Raise Malformed with the wrong field if no such channel is sold."""
        if not self.smallest <= channel.capacity <= self.largest:
            raise Malformed(
                f"capacity: must be from {self.smallest:,} to {self.largest:,} for a "
                "channel to a named node"
            )
        if channel.lease_duration_blocks > self.longest_blocks:
            raise Malformed(
                f"lease_duration_blocks: must be at most {self.longest_blocks:,} for "
                "a channel to a named node"
            )
        if channel.zero_conf and self.confirmations:
            raise Malformed("zero_conf: is not sold now")

    def wish(self, channel: Channel) -> dict[str, Any]:
        """Return the body of `create_order` for the channel."""
        return {
            "public_key": channel.node_key,
            "lsp_balance_sat": str(channel.capacity),
            "client_balance_sat": "0",
            "required_channel_confirmations": 0
            if channel.zero_conf
            else max(1, self.confirmations),
            "funding_confirms_within_blocks": max(_WITHIN_BLOCKS, self.within_blocks),
            "channel_expiry_blocks": channel.lease_duration_blocks,
            "announce_channel": channel.announce,
        }


class LspRefused(Struct, frozen=True):
    """An LSP refused an order, with its reason."""

    why: str


class LspState(StrEnum):
    """The state of an order, as its LSP says."""

    CREATED = "CREATED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


class LspOrder(Struct, frozen=True, kw_only=True):
    """An order, as its LSP shows it."""

    id: str
    state: LspState
    price: Sats
    invoice: str  # "" if it shows none
    channel: Outpoint | None


def parse_info(body: Mapping[str, Any]) -> LspInfo:
    """Parse `get_info`; raise SellerAway if nothing can be ordered by it.

    Servers leave fields out, and some put those of the channel in `options`.
    """
    options = body.get("options")
    if isinstance(options, dict):
        body = {**body, **options}
    uris = body.get("uris")
    uri = next(
        (
            each
            for each in (uris if isinstance(uris, list) else ())
            if isinstance(each, str) and _URI.fullmatch(each)
        ),
        "",
    )
    if not uri:
        raise away("names no address of its node")
    return LspInfo(
        uri=uri,
        smallest=Sats(
            max(
                _sats(body, "min_initial_lsp_balance_sat", 0),
                _sats(body, "min_channel_balance_sat", 0),
            )
        ),
        largest=Sats(
            min(
                _sats(body, "max_initial_lsp_balance_sat"),
                _sats(body, "max_channel_balance_sat", _LARGEST),
            )
        ),
        confirmations=_number(body, "min_required_channel_confirmations", 1),
        within_blocks=_number(body, "min_funding_confirms_within_blocks", 1),
        longest_blocks=_number(body, "max_channel_expiry_blocks"),
    )


def parse_lsp_order(body: Mapping[str, Any]) -> LspOrder:
    """Parse an order; raise SellerAway if it can't be understood.

    Of early 2024, and still served: `lightning_invoice` and the sums beside it.
    """
    id_, state = body.get("order_id"), body.get("order_state")
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        raise away("returned an order without a valid id")
    if not isinstance(state, str) or state not in set(LspState):
        raise away("returned an order in an unknown state")
    payment = body.get("payment")
    payment = payment if isinstance(payment, dict) else {}
    bolt11 = payment.get("bolt11")
    bolt11 = bolt11 if isinstance(bolt11, dict) else payment
    invoice = bolt11.get("invoice", bolt11.get("lightning_invoice"))
    invoice = invoice.lower() if isinstance(invoice, str) else ""
    return LspOrder(
        id=id_,
        state=LspState(state),
        price=Sats(_sats(bolt11, "order_total_sat", 0)),
        invoice=invoice if _INVOICE.fullmatch(invoice) else "",
        channel=_channel(body.get("channel")),
    )


def away(why: str) -> SellerAway:
    """Return the error for an LSP that can't be used now."""
    return SellerAway(why=f"the LSP {why}", retry_after_s=30)


def _channel(found: Any) -> Outpoint | None:
    point = found.get("funding_outpoint") if isinstance(found, dict) else None
    matched = _POINT.fullmatch(point) if isinstance(point, str) else None
    return Outpoint(matched[1], int(matched[2])) if matched else None


def _sats(body: Mapping[str, Any], field: str, default: int | None = None) -> int:
    """Return an amount; the specification has strings, some servers numbers."""
    value = body.get(field, default)
    if isinstance(value, str) and _SATS.fullmatch(value):
        return int(value)
    return _number({field: value}, field)


def _number(body: Mapping[str, Any], field: str, default: int | None = None) -> int:
    value = body.get(field, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise away(f"returned no valid {field}")
    if not 0 <= value < 10**16:
        raise away(f"returned a {field} that is out of range")
    return value


# What it costs, and what may be paid.


def routing_limit(price: Sats, ppm: int) -> Sats:
    """Return the most that routing of a payment may cost."""
    return Sats(_ROUTING_BASE + part_per_million(price, ppm))


def bought_quote(
    channel: Channel, terms: Terms, lsp: str, price: Sats, *, routing_ppm: int
) -> Quote:
    """Return the price of a channel that an LSP sells for so much.

    `pool_fee` is the most that it may cost us: a higher price later, and routing. What
    is not used is credited, as of the auction.
    """
    check_direct(channel, terms)
    highest = Sats(price + part_per_million(price, _RISE_PPM))
    rate_bps = rounded_up(price * _BPS, channel.capacity)
    return fees_of(
        channel,
        terms,
        rate_bps=rate_bps,
        at_most=Sats(highest + routing_limit(highest, routing_ppm)),
        source=lsp,
    )


def why_not(
    found: LspOrder,
    decoded: InnerInvoice,
    quote: Quote,
    *,
    routing_ppm: int,
    now: datetime,
) -> str:
    """Return why an LSP's invoice must not be paid for an order; "" if it may."""
    limit = routing_limit(found.price, routing_ppm)
    wrong = (
        (
            decoded.msat != found.price * 1_000 or not found.price,
            "its invoice is not for the price that it names",
        ),
        (
            found.price + limit > quote.pool_fee,
            f"its price rose to {found.price:,} sat since the quote",
        ),
        (decoded.expires - now < SHORTEST, "its invoice expires too soon"),
        (decoded.expires - now > LONGEST, "its invoice is valid for too long"),
        (
            decoded.delta > LONGEST_DELTA,
            f"its invoice has a time lock of {decoded.delta:,} blocks",
        ),
        (decoded.amp, "its invoice is an AMP invoice"),
        (
            found.state is not LspState.CREATED or found.channel is not None,
            "its new order is not unpaid",
        ),
    )
    return next((why for is_wrong, why in wrong if is_wrong), "")
