"""Wrapped invoices: a second way to buy a just-in-time channel.

A wallet hands in its own invoice, the inner one, and gets a hold invoice of the purse
with the same payment hash, for the fee more. Once that is paid, and held, its order
lives as those of LSPS2 do, except that the payment is not forwarded: the purse pays the
inner invoice over the new channel, which tells it the preimage of the other.

From `resuming` on, the inner payment may succeed at any time. Until it certainly failed
the hold invoice is never cancelled: otherwise we would pay the node, and nobody us.
"""

import json
import re
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Any, Final

from leyden.base.rules.times import from_us, to_us
from leyden.channels.direct.rules.jit import (
    HELD_STATES,
    HOLD,
    HOLD_BLOCKS,
    MSAT,
    CircuitKey,
    JitOrder,
    JitPart,
    JitStatus,
)
from leyden.channels.rules.payments import InvoiceState
from leyden.errors import Malformed
from leyden.values import Struct

# The inner invoice's final time lock, in blocks; lnd's own invoices have 80. For so
# long, a wallet can keep its payment, and the payer's.
LONGEST_DELTA: Final = 160
# What the payer's HTLC must outlast the inner payment by: we are told its preimage on
# the chain at the latest, and lnd gives up a held HTLC 12 blocks before it expires.
LOCK_LEFT: Final = 40
_PADDING: Final = 3  # blocks that lnd adds to a payment of its own
# What the hold invoice asks for beyond the inner one's: payers may be slow, too.
_MORE_DELTA: Final = 2 * LOCK_LEFT
# An inner invoice must live on while its payment is held, and be paid by then.
_LATE: Final = timedelta(seconds=30)  # that we may notice a payment after it expired
SPARE: Final = HOLD + _LATE
SHORTEST: Final = timedelta(minutes=2)  # that a wrapped invoice is worth
# An order without an invoice is given up this long after it was to expire.
MISSING_FOR: Final = timedelta(hours=1)
# These are tried again for as long as a payment is held: lnd has no route over a new
# channel until that is in its own graph, a second after it is active.
RETRIED: Final = frozenset(
    {
        "FAILURE_REASON_NO_ROUTE",
        "FAILURE_REASON_INSUFFICIENT_BALANCE",
        "FAILURE_REASON_TIMEOUT",
    }
)
LONGEST_REQUEST: Final = 4_096

_REQUEST: Final = re.compile(r"ln[a-z0-9]+")
_KEY: Final = re.compile(r"0[23][0-9a-f]{64}")
_FEE_ID: Final = re.compile(r"([0-9]{1,17})-([0-9]{1,17})-([0-9]{1,17})-([0-9a-f]{64})")
# Orders have ids of the same kind as those of LSPS2, in a range beside theirs: whoever
# pays to one as if it were a channel is nobody that the interceptor looks at.
_FIRST_BLOCK: Final = 16_240_000
_BLOCKS: Final = 10_000

_INVOICE: Final = "invoice"  # instead of a channel: the part is no HTLC of a forward


class InnerInvoice(Struct, frozen=True, kw_only=True):
    """A wallet's own invoice, as lnd decodes it."""

    request: str
    payment_hash: str
    payee: str
    msat: int  # 0: the payer chooses
    expires: datetime
    delta: int  # blocks
    memo: str = ""
    memo_hash: str = ""  # in base64, instead of a memo
    hints: frozenset[str] = frozenset()  # the nodes that it may be reached through
    amp: bool = False  # its payments have other hashes than it has


class HoldInvoice(Struct, frozen=True, kw_only=True):
    """A hold invoice of the purse."""

    state: InvoiceState
    request: str = ""
    msat: int = 0  # paid, once it is accepted
    expires: int = 0  # the block at which the first held HTLC does


class PaidState(StrEnum):
    """What became of the payment of an inner invoice."""

    NONE = auto()  # never begun
    IN_FLIGHT = auto()
    SUCCEEDED = auto()
    FAILED = auto()  # for good, unless it is begun again


class InnerPayment(Struct, frozen=True, kw_only=True):
    """The payment of an inner invoice."""

    state: PaidState
    preimage: str = ""
    msat: int = 0  # paid, with fees
    why: str = ""


class WrappedInvoice(Struct, frozen=True, kw_only=True):
    """What an order has beside the others: two invoices with one payment hash."""

    order_id: str
    payment_hash: str
    inner: str
    wrapped: str  # "": not created yet
    delta: int  # of the inner one
    address: str  # of the HTTP client, in the form that is counted
    closed: bool = False  # the hold invoice is settled or cancelled


class FeeQuote(Struct, frozen=True, kw_only=True):
    """A fee that a node was promised, for payments of at most so much."""

    peer: str
    valid_until: datetime
    amount_msat: int
    fee_msat: int

    @property
    def promised(self) -> bytes:
        """What the promise is made of."""
        return json.dumps([self.peer, *self._numbers]).encode()

    def id(self, promise: bytes) -> str:
        """Return the text by which the promise is kept: nothing is stored."""
        return "-".join([*map(str, self._numbers), promise.hex()])

    @property
    def _numbers(self) -> tuple[int, int, int]:
        return to_us(self.valid_until), self.amount_msat, self.fee_msat


def id_from(random: int) -> str:
    """Return an order's id, of a random number below 2**53."""
    block, rest = random % _BLOCKS, random // _BLOCKS
    return f"{_FIRST_BLOCK + block}x{rest & 0xFFFFFF}x{rest >> 24 & 0xFFFF}"


def is_wrapped(order_id: str) -> bool:
    """Return whether an order's id is one of wrapped invoices."""
    return int(order_id.partition("x")[0]) >= _FIRST_BLOCK


def parse_fee_id(text: object, peer: str) -> tuple[FeeQuote, bytes]:
    """Return what the text says, and its promise, which is yet to be compared."""
    found = _FEE_ID.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise Malformed("fee_id: is not one of ours; ask for the fee again")
    until, amount, fee = map(int, found.groups()[:3])
    quote = FeeQuote(
        peer=peer, valid_until=from_us(until), amount_msat=amount, fee_msat=fee
    )
    return quote, bytes.fromhex(found[4])


def parse_amount(body: dict[str, Any]) -> int:
    """Return `amount_msat` of a request."""
    amount = body.get("amount_msat")
    if type(amount) is not int or not 0 < amount < 2**63:
        raise Malformed("amount_msat: must be a positive whole number of millisatoshis")
    return amount


def parse_key(body: dict[str, Any]) -> str:
    """Return `pubkey` of a request."""
    key = body.get("pubkey")
    if not isinstance(key, str) or not _KEY.fullmatch(key.lower()):
        raise Malformed("pubkey: must be the public key of a node, in hex")
    return key.lower()


def parse_request(body: dict[str, Any]) -> str:
    """Return `bolt11` of a request, which may still be anything that looks like one."""
    text = body.get("bolt11")
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST_REQUEST:
        raise Malformed("bolt11: must be an invoice")
    if not _REQUEST.fullmatch(text.lower()):
        raise Malformed("bolt11: is not a BOLT 11 invoice")
    return text.lower()


def check_inner(inner: InnerInvoice, *, now: datetime, purse: str) -> None:
    """Raise Malformed for an invoice that can't be wrapped, whoever asks."""
    if not inner.msat:
        raise Malformed("bolt11: has no amount; create an invoice with one")
    if inner.payee == purse:
        raise Malformed("bolt11: is an invoice of the node that wraps it")
    if inner.amp:
        raise Malformed("bolt11: is an AMP invoice; create one that can be paid once")
    if inner.delta > LONGEST_DELTA:
        raise Malformed(
            f"bolt11: its time lock is {inner.delta} blocks; {LONGEST_DELTA} at most"
        )
    if inner.expires - now < SPARE + SHORTEST:
        raise Malformed("bolt11: has expired, or will in a moment; create another one")


def whole(msat: int) -> int:
    """Return the amount in whole satoshis, rounded up, in millisatoshis."""
    return -(-msat // MSAT) * MSAT


def delta_of(inner_delta: int) -> int:
    """Return the final time lock of a hold invoice, in blocks."""
    return inner_delta + _PADDING + _MORE_DELTA


def part_of(order: JitOrder) -> JitPart:
    """Return what stands for the inner payment among the parts of an order."""
    return JitPart(
        circuit=CircuitKey(_INVOICE, order.payment_hash),
        payment_hash=order.payment_hash,
        amount_msat=order.size_msat,
        take_msat=order.fee_msat,
    )


class WrapStep(StrEnum):
    """What to do next about a wrapped invoice."""

    WAIT = auto()
    HOLD = auto()  # store that its payment is held
    OPEN = auto()
    FIND = auto()  # the opening, or open it if there is none
    LOOK = auto()  # for the opening alone, whose payment is gone
    PAY = auto()  # store that the inner invoice is being paid
    FOLLOW = auto()  # the inner payment, until it is known what became of it
    CANCEL = auto()  # the hold invoice
    RETURN = auto()  # store that the payment goes back
    LAPSE = auto()  # store that nobody paid it
    CLOSE = auto()  # store that its invoice is over


def decide(
    order: JitOrder,
    invoice: HoldInvoice,
    *,
    delta: int,
    online: bool,
    now: datetime,
    height: int,
) -> WrapStep:
    """Return what to do next for an order whose invoice is not over yet."""
    if order.status is JitStatus.RESUMING:
        return WrapStep.FOLLOW
    if order.status in {JitStatus.SOLD, JitStatus.EXPIRED}:
        return _unpaid(order, invoice, now=now)
    if order.status in HELD_STATES:
        if invoice.state is not InvoiceState.ACCEPTED:
            return _GONE[order.status]
        if is_over(order, now=now, height=height) or not outlasts(
            invoice, delta=delta, height=height
        ):
            return _OVER[order.status]
        return _NEXT[order.status] if online else WrapStep.WAIT
    is_cancelled = order.status is not JitStatus.EARNED and invoice.state in _PENDING
    return WrapStep.CANCEL if is_cancelled else WrapStep.CLOSE


# What to do while a payment is held, once it was for too long, and once it is gone.
_NEXT: Final = {
    JitStatus.HOLDING: WrapStep.OPEN,
    JitStatus.OPENING: WrapStep.FIND,
    JitStatus.OPENED: WrapStep.PAY,
}
_OVER: Final = {
    JitStatus.HOLDING: WrapStep.RETURN,
    JitStatus.OPENING: WrapStep.CANCEL,
    JitStatus.OPENED: WrapStep.RETURN,
}
_GONE: Final = _OVER | {JitStatus.OPENING: WrapStep.LOOK}
_PENDING: Final = frozenset({InvoiceState.OPEN, InvoiceState.ACCEPTED})


def _unpaid(order: JitOrder, invoice: HoldInvoice, *, now: datetime) -> WrapStep:
    """Return what to do about an invoice whose payment is not held by the order."""
    is_sold = order.status is JitStatus.SOLD
    if is_sold and invoice.state is InvoiceState.ACCEPTED:
        # Held before, and turned back; or its inner invoice expires too soon.
        is_late = now >= order.valid_until + _LATE
        return WrapStep.CANCEL if order.payment_hash or is_late else WrapStep.HOLD
    if invoice.state in _PENDING:
        return WrapStep.CANCEL if now >= order.valid_until else WrapStep.WAIT
    if invoice.state is InvoiceState.MISSING and now < order.valid_until + MISSING_FOR:
        return WrapStep.WAIT  # it may be created in this moment
    return WrapStep.LAPSE if is_sold else WrapStep.CLOSE


def is_over(order: JitOrder, *, now: datetime, height: int) -> bool:
    """Return whether the payment was held for as long as it may be."""
    return now - order.held_at >= HOLD or height - order.held_height >= HOLD_BLOCKS


def outlasts(invoice: HoldInvoice, *, delta: int, height: int) -> bool:
    """Return whether the held payment certainly outlasts an inner one begun now."""
    return invoice.expires - height >= delta + _PADDING + LOCK_LEFT


def limit_of(delta: int) -> int:
    """Return the most blocks that the inner payment may be locked for.

    lnd wants one more than it takes.
    """
    return delta + _PADDING + 1
