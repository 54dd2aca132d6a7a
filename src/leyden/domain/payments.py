"""Payments to us, as the treasury reports them.

On Lightning a payment is first held (ACCEPTED): ours to settle or to cancel
back. On-chain an output is seen, then confirmed; until it is buried it can
be reversed.
"""

from datetime import datetime
from enum import StrEnum, auto
from typing import Self

from leyden.domain.units import Sats
from leyden.values import Struct


class InvoiceState(StrEnum):
    """The state of an invoice."""

    OPEN = auto()  # nobody paid yet
    ACCEPTED = auto()  # paid, and held for us
    SETTLED = auto()  # paid, and ours
    CANCELLED = auto()  # handed back, or never paid in time
    MISSING = auto()  # the treasury does not know it: is it another treasury?


class Invoice(Struct, frozen=True, kw_only=True):
    """A Lightning invoice of ours in its current state."""

    payment_hash: str
    state: InvoiceState
    sats: Sats = Sats(0)  # what was paid, once it is accepted; may be more than asked
    expires: int = 0  # the block at which the first lock of a held payment ends


class Outpoint(Struct, frozen=True, order=True):
    """An output of a transaction: the key by which its payment is booked."""

    txid: str
    vout: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the output that `txid:vout` names."""
        txid, _, vout = text.partition(":")
        return cls(txid, int(vout))

    def __str__(self) -> str:
        """Return the usual form: `txid:vout`."""
        return f"{self.txid}:{self.vout}"


class Output(Struct, frozen=True, kw_only=True):
    """An on-chain output to an address of ours, in its current state."""

    outpoint: Outpoint
    address: str
    sats: Sats
    # 0 while no block has it, or nobody may spend it; -1 once another transaction won
    confirmations: int


GONE = -1


class Holdings(Struct, frozen=True, kw_only=True):
    """The treasury's balances at one moment."""

    confirmed: Sats
    unconfirmed: Sats  # on the chain's way in
    in_channels: Sats | None  # our side of them; None: we may not look there
    height: int
    synced: bool  # with its chain


class PaidOrder(Struct, frozen=True, kw_only=True):
    """What an order was paid over Lightning, as the treasury knows it."""

    order_id: str
    payment_hash: str
    state: InvoiceState  # accepted: it is held; settled
    sats: Sats


class OutputState(StrEnum):
    """The state of an output."""

    SEEN = auto()  # it does not count yet, or no longer
    BOOKED = auto()  # it counts, and may still be taken back by the chain
    BURIED = auto()  # it counts for good
    GONE = auto()  # another transaction won


class KnownOutput(Struct, frozen=True, kw_only=True):
    """An output as stored."""

    outpoint: Outpoint
    order_id: str
    sats: Sats
    state: OutputState
    seen: datetime
    bookings: int = 0  # booked again after the chain took it back: one more
    to_order: Sats = Sats(0)  # of the last booking; the rest went to credit

    @property
    def key(self) -> str:
        """The ledger key of the output's last booking."""
        return f"chain:{self.outpoint}#{self.bookings}"


# What the treasury tells of a payment.
PaymentUpdate = Invoice | Output


class PaymentRequest(Struct, frozen=True, kw_only=True):
    """The ways to pay an order."""

    order_id: str
    sats: Sats
    onchain_address: str
    lightning_invoice: str
    payment_hash: str


class Confirmations(Struct, frozen=True):
    """The confirmations an output needs, by its amount."""

    steps: tuple[tuple[Sats, int], ...] = (
        (Sats(0), 1),
        (Sats(1_000_000), 2),
        (Sats(5_000_000), 3),
    )

    def needed(self, sats: Sats) -> int:
        """Return the confirmations needed for an amount."""
        return max(count for least, count in self.steps if sats >= least)
