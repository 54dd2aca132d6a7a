"""The ledger: entries are only added, and a balance is always a sum of entries.

Each entry moves satoshis from one account (a "place") to another, so all
balances together are always zero. Money enters from the places that may be
negative:

    received             sats that reached our wallet, on either rail
    promised             held HTLCs, which we can settle or cancel
    promo                coupons
    corrections          corrections by the operator, with a reason
    purse                routing fees that the purse's lnd earned, less what it spent
    chain fees           what its funding transactions paid to miners
    purchases            what was paid to other LSPs, less what customers paid for that
    owed:<org>           debt of a corporate account
    receivable:<org>     money the chain reversed after it was spent

Money stays in credit:<org> or held:<order>, and leaves to earned, auction,
seller (for channels of the operator's own seller), lsps (for bought ones) or refunded.

The main invariant: an order that has ended holds nothing.

An entry's key can be written only once, so booking something twice has no
further effect.
"""

from collections.abc import Iterable
from enum import StrEnum, auto

from leyden.base.rules.units import Sats
from leyden.values import Struct, replace

RECEIVED = "received"
HELD_HTLCS = "promised"  # existing entries have this name
PROMO = "promo"
CORRECTIONS = "corrections"
EARNED = "earned"
AUCTION = "auction"
SELLER = "seller"
PURSE = "purse"  # of just-in-time channels
CHAIN_FEES = "chain fees"
PURCHASES = "purchases"  # of channels from other LSPs
LSPS = "lsps"
REFUNDED = "refunded"

# The accounts that belong to no organization.
OPERATORS = (
    RECEIVED,
    HELD_HTLCS,
    PROMO,
    CORRECTIONS,
    EARNED,
    AUCTION,
    SELLER,
    PURSE,
    CHAIN_FEES,
    PURCHASES,
    LSPS,
    REFUNDED,
)

# Who books entries that no operator asked for.
PLATFORM = "leyden"

# Prefixes of keys: of a returned fee, of an entry that reverses another one, and of
# the price of an extended lease.
UNUSED_FEE = "unused:"
UNDONE = "undone:"
EXTENSION = "extension:"

_MAY_GO_BELOW_ZERO = (
    RECEIVED,
    HELD_HTLCS,
    PROMO,
    CORRECTIONS,
    PURSE,
    CHAIN_FEES,
    PURCHASES,
    "owed:",
    "receivable:",
)


def credit(organization_id: str) -> str:
    """Return the place of an organization's available credit."""
    return f"credit:{organization_id}"


def held(order_id: str) -> str:
    """Return the place of the money held for an order."""
    return f"held:{order_id}"


def owed(organization_id: str) -> str:
    """Return the place of a corporate account's debt."""
    return f"owed:{organization_id}"


def receivable(organization_id: str) -> str:
    """Return the place of money the chain reversed after it was spent."""
    return f"receivable:{organization_id}"


def owner(account: str) -> str:
    """Return the order or organization of a place; "" for the operator's."""
    return account.partition(":")[2]


def may_go_below_zero(account: str) -> bool:
    """Return whether the balance of a place may be negative."""
    return account.startswith(_MAY_GO_BELOW_ZERO)


class Reason(StrEnum):
    """The reason for an entry."""

    CREDIT_USED = auto()  # credit, for a new order
    CHARGED = auto()  # to a corporate account, which pays later
    HTLC_HELD = "promise"  # a Lightning payment is held
    HANDED_BACK = auto()  # a held payment was cancelled, back to its payer
    PAYMENT = auto()  # sats reached our wallet
    SURPLUS = auto()  # more than was due
    LATE = auto()  # for an order that no longer needed it
    RELEASED = auto()  # an order returned what it held, or did not need
    REVERSED = auto()  # a chain reorganisation removed a payment
    EARNED = auto()
    AUCTION = auto()
    COUPON = auto()
    CORRECTION = auto()
    REFUND = auto()  # sent back to the buyer outside the platform


SPENT = frozenset({Reason.AUCTION, Reason.EARNED})  # for a channel


class Entry(Struct, frozen=True, kw_only=True):
    """One movement of satoshis from one place to another, written once."""

    key: str
    what: Reason
    source: str
    target: str
    sats: Sats
    organization_id: str | None = None
    order_id: str | None = None
    actor: str = PLATFORM
    note: str = ""


def payment_entries(
    sats: int,
    *,
    organization_id: str,
    outstanding: int,
    source: str,
    what: Reason,
    key: str,
    order_id: str | None = None,
) -> list[Entry]:
    """Return entries that pay an organization: first its debt, then credit.

    `outstanding` is the balance of its receivable.
    """
    repaid = min(sats, outstanding)
    return [
        Entry(
            key=f"{key}:{account}",
            what=what,
            source=source,
            target=target,
            sats=Sats(part),
            organization_id=organization_id,
            order_id=order_id,
        )
        for account, target, part in (
            ("receivable", receivable(organization_id), repaid),
            ("credit", credit(organization_id), sats - repaid),
        )
        if part
    ]


def grant_entries(entry: Entry, *, outstanding: int) -> list[Entry]:
    """Return entries for a coupon or a correction, debt first.

    The debt is the organization's receivable. The first part has the entry's
    own key, so that the money is granted only once, however it is divided;
    `parts` returns all keys.
    """
    if entry.organization_id is None:
        raise ValueError("credit is somebody's")
    repaid = min(entry.sats, outstanding)
    accounts = (
        (receivable(entry.organization_id), repaid),
        (credit(entry.organization_id), entry.sats - repaid),
    )
    divided = [(target, sats) for target, sats in accounts if sats]
    return [
        replace(entry, key=key, target=target, sats=Sats(sats))
        for key, (target, sats) in zip(parts(entry.key), divided, strict=False)
    ]


def parts(key: str) -> Iterable[str]:
    """Return the keys of all entries that a grant may be divided into."""
    return key, f"rest of {key}"


def reversal_entries(
    sats: int,
    *,
    organization_id: str,
    available: int,
    key: str,
    order_id: str,
) -> list[Entry]:
    """Return entries that reverse a payment: first from credit, then as a debt.

    `available` is the credit that can be used.
    """
    from_credit = min(sats, available)
    return [
        Entry(
            key=f"{key}:{account}",
            what=Reason.REVERSED,
            source=source,
            target=RECEIVED,
            sats=Sats(part),
            organization_id=organization_id,
            order_id=order_id,
        )
        for account, source, part in (
            ("credit", credit(organization_id), from_credit),
            ("receivable", receivable(organization_id), sats - from_credit),
        )
        if part
    ]


def undone(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries that reverse what was spent on an order's channel."""
    return [
        replace(
            each,
            key=f"{UNDONE}{each.key}",
            source=each.target,
            target=each.source,
            note="the channel can never come",
        )
        for each in entries
        if each.what in SPENT and not each.key.startswith(EXTENSION)
    ]


def extensions_undone(order_id: str, entries: Iterable[Entry]) -> list[Entry]:
    """Return entries that hold for an order what its longer lease cost.

    Not back where it came from: a corporate account may have paid it since.
    """
    return [
        replace(
            each,
            key=f"{UNDONE}{each.key}",
            what=Reason.RELEASED,
            source=each.target,
            target=held(order_id),
            note="the channel can never come",
        )
        for each in entries
        if each.key.startswith(EXTENSION)
    ]


def release(
    *,
    order_id: str,
    organization_id: str,
    holds: int,
    held_htlc: int,
    charged: int,
    owes: int,
    outstanding: int,
    key: str,
) -> list[Entry]:
    """Return entries that return what an order holds to where it came from.

    `holds` is all of it, or the part to release. A held HTLC is cancelled, back to its
    payer. A corporate account's charge is reversed as far as it is still owed. The rest
    becomes the organization's credit, because it was paid with the organization's
    money, even if it was charged first.
    """
    to_payer = min(held_htlc, holds)
    to_account = min(charged, holds - to_payer, owes)
    entries = [
        Entry(
            key=f"{key}:{part}",
            what=what,
            source=held(order_id),
            target=target,
            sats=Sats(sats),
            organization_id=organization_id,
            order_id=order_id,
        )
        for part, what, target, sats in (
            ("promised", Reason.HANDED_BACK, HELD_HTLCS, to_payer),
            ("owed", Reason.RELEASED, owed(organization_id), to_account),
        )
        if sats
    ]
    return entries + payment_entries(
        holds - to_payer - to_account,
        organization_id=organization_id,
        outstanding=outstanding,
        source=held(order_id),
        what=Reason.RELEASED,
        key=key,
        order_id=order_id,
    )


def credit_total(entries: list[Entry]) -> Sats:
    """Return the sum that the entries add to an organization's credit."""
    return Sats(sum(each.sats for each in entries if each.target.startswith("credit:")))
