"""The ledger as a customer sees it: their own accounts, without the operator's.

    credit       what you may spend
    held         reserved for an order
    owed         what your corporate account owes
    receivable   payments that the chain reversed after you had spent them
    outside      where your money comes from, and where it goes

The cost of a filled order is one entry, however it is divided between the auction
and the operator. Entries between accounts of the operator are left out.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum, auto

from leyden.base.rules.units import Sats
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.values import Struct

OUTSIDE = "outside"


class EntryKind(StrEnum):
    """What an entry means to the customer."""

    COUPON = auto()
    CORRECTION = auto()
    PAYMENT = auto()  # received, or held until the ticket exists
    HANDED_BACK = auto()
    SURPLUS = auto()
    LATE = auto()
    CREDIT_USED = auto()
    CHARGED = auto()
    FILLED = auto()  # the price of a channel
    UNUSED_FEE = auto()  # the part of it that the auction did not take
    UNDONE = auto()  # the price, returned because the channel can never open
    EXTENDED = auto()  # the price of more blocks for a channel's lease
    RELEASED = auto()
    REVERSED = auto()
    REFUND = auto()


_KINDS: Mapping[Reason, EntryKind] = {
    Reason.COUPON: EntryKind.COUPON,
    Reason.CORRECTION: EntryKind.CORRECTION,
    Reason.HTLC_HELD: EntryKind.PAYMENT,
    Reason.PAYMENT: EntryKind.PAYMENT,
    Reason.HANDED_BACK: EntryKind.HANDED_BACK,
    Reason.SURPLUS: EntryKind.SURPLUS,
    Reason.LATE: EntryKind.LATE,
    Reason.CREDIT_USED: EntryKind.CREDIT_USED,
    Reason.CHARGED: EntryKind.CHARGED,
    Reason.AUCTION: EntryKind.FILLED,
    Reason.EARNED: EntryKind.FILLED,
    Reason.RELEASED: EntryKind.RELEASED,
    Reason.REVERSED: EntryKind.REVERSED,
    Reason.REFUND: EntryKind.REFUND,
}


class CustomerEntry(Struct, frozen=True, kw_only=True):
    """One movement of a customer's money."""

    number: int
    at: datetime
    kind: EntryKind
    source: str
    target: str
    sats: Sats
    order_id: str
    note: str


def kind_of(entry: Entry) -> EntryKind:
    """Return what an entry means to its customer."""
    if entry.key.startswith(ledger.UNUSED_FEE):
        return EntryKind.UNUSED_FEE
    if entry.key.startswith(ledger.UNDONE):
        return EntryKind.UNDONE
    if entry.key.startswith(ledger.EXTENSION):
        return EntryKind.EXTENDED
    return _KINDS[entry.what]


def customer_entry(number: int, at: datetime, entry: Entry) -> CustomerEntry:
    """Return an entry as its customer sees it."""
    return CustomerEntry(
        number=number,
        at=at,
        kind=kind_of(entry),
        source=_own(entry.source),
        target=_own(entry.target),
        sats=entry.sats,
        order_id=entry.order_id or "",
        note=entry.note,
    )


def _own(account: str) -> str:
    return OUTSIDE if account in ledger.OPERATORS else account.partition(":")[0]
