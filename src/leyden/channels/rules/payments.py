"""Payments to us, as the treasury reports them.

A Lightning payment is first held (ACCEPTED): we can settle or cancel it. An
on-chain output is seen, then confirmed; until it is buried, a reorganisation
can reverse it.
"""

from datetime import datetime
from enum import StrEnum, auto
from typing import Self

from leyden.base.rules.units import Sats
from leyden.values import Struct


class InvoiceState(StrEnum):
    """The state of an invoice."""

    OPEN = auto()  # not paid yet
    ACCEPTED = auto()  # paid, and held
    SETTLED = auto()  # paid and received
    CANCELLED = auto()  # returned to the payer, or not paid in time
    MISSING = auto()  # unknown to the treasury, which may be another one


class Invoice(Struct, frozen=True, kw_only=True):
    """One of our Lightning invoices, in its current state."""

    payment_hash: str
    state: InvoiceState
    sats: Sats = Sats(0)  # paid, once accepted; may be more than requested
    expires: int = 0  # the block at which the first HTLC of a held payment expires


class Outpoint(Struct, frozen=True, order=True):
    """An output of a transaction; identifies a payment in the ledger."""

    txid: str
    vout: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `txid:vout`."""
        txid, _, vout = text.partition(":")
        return cls(txid, int(vout))

    def __str__(self) -> str:
        """Return the usual form: `txid:vout`."""
        return f"{self.txid}:{self.vout}"


class Output(Struct, frozen=True, kw_only=True):
    """An on-chain output to one of our addresses, in its current state."""

    outpoint: Outpoint
    address: str
    sats: Sats
    # 0 if unconfirmed or not spendable yet; -1 if another transaction replaced it
    confirmations: int


GONE = -1


class Holdings(Struct, frozen=True, kw_only=True):
    """A snapshot of the treasury's balances."""

    confirmed: Sats
    unconfirmed: Sats  # incoming
    in_channels: Sats | None  # our balance; None without the permission to read it
    height: int
    synced: bool  # with its chain


class PaidOrder(Struct, frozen=True, kw_only=True):
    """A Lightning payment of an order, according to the treasury."""

    order_id: str
    payment_hash: str
    state: InvoiceState  # accepted (held) or settled
    sats: Sats


class OutputState(StrEnum):
    """The state of an output."""

    SEEN = auto()  # not counted yet, or no longer
    BOOKED = auto()  # counted, but the chain may still reverse it
    BURIED = auto()  # counted for good
    GONE = auto()  # another transaction replaced it


class KnownOutput(Struct, frozen=True, kw_only=True):
    """An output as stored."""

    outpoint: Outpoint
    order_id: str
    sats: Sats
    state: OutputState
    first_seen: datetime
    bookings: int = 0  # one more each time it is booked again after a reversal
    to_order: Sats = Sats(0)  # of the last booking; the rest went to credit

    @property
    def key(self) -> str:
        """The ledger key of the output's last booking."""
        return f"chain:{self.outpoint}#{self.bookings}"


# What the treasury reports about a payment.
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
