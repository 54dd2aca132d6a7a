"""Where the money is. Entries are only ever added; a balance is only ever a sum.

Each entry moves satoshis from one place to another, so all balances together are
always zero. Money enters from the places that may go below zero:

    received             sats that reached our wallet, on either rail
    promised             HTLCs held for us: ours to settle or to hand back
    promo                coupons
    corrections          what the operator set right, with a reason
    owed:<org>           what a corporate account owes
    receivable:<org>     money the chain took back after it was spent

It rests in credit:<org> or held:<order>, and leaves to earned, auction or refunded.

An order that has ended holds nothing: that is the invariant to remember.

An entry has a key that can be written once. Doing a thing twice writes it once.
"""

from collections.abc import Iterable
from enum import StrEnum, auto

from leyden.domain.units import Sats
from leyden.values import Struct, replace

RECEIVED = "received"
HELD_HTLCS = "promised"  # by this name in every entry there is
PROMO = "promo"
CORRECTIONS = "corrections"
EARNED = "earned"
AUCTION = "auction"
REFUNDED = "refunded"

_MAY_GO_BELOW_ZERO = (RECEIVED, HELD_HTLCS, PROMO, CORRECTIONS, "owed:", "receivable:")


def credit(organization_id: str) -> str:
    """Name the place of what an organization may spend."""
    return f"credit:{organization_id}"


def held(order_id: str) -> str:
    """Name the place of what is there for an order."""
    return f"held:{order_id}"


def owed(organization_id: str) -> str:
    """Name the place of a corporate account's debt."""
    return f"owed:{organization_id}"


def receivable(organization_id: str) -> str:
    """Name the place of what the chain took back and the organization had spent."""
    return f"receivable:{organization_id}"


def may_go_below_zero(place: str) -> bool:
    """Tell whether a place is where money comes from."""
    return place.startswith(_MAY_GO_BELOW_ZERO)


class What(StrEnum):
    """Why money moved."""

    CREDIT_USED = auto()  # credit, for a new order
    CHARGED = auto()  # a corporate account pays later
    HTLC_HELD = "promise"  # a Lightning payment is held
    HANDED_BACK = auto()  # ... and was cancelled back to its payer
    PAYMENT = auto()  # sats reached our wallet
    SURPLUS = auto()  # more than was due
    LATE = auto()  # for an order that needed it no more
    RELEASED = auto()  # an order ended and what it held went back
    REVERSED = auto()  # the chain took a payment back
    EARNED = auto()
    AUCTION = auto()
    COUPON = auto()
    CORRECTION = auto()
    REFUND = auto()  # sent back to the buyer outside the platform


class Entry(Struct, frozen=True, kw_only=True):
    """So many satoshis went from one place to another, once."""

    key: str
    what: What
    source: str
    target: str
    sats: Sats
    organization_id: str | None = None
    order_id: str | None = None
    actor: str = "leyden"
    note: str = ""


def given(
    sats: int,
    *,
    organization_id: str,
    outstanding: int,
    source: str,
    what: What,
    key: str,
    order_id: str | None = None,
) -> list[Entry]:
    """Give money to an organization: what it owes us is paid first, the rest is credit.

    `outstanding` is what its receivable comes to.
    """
    repaid = min(sats, outstanding)
    return [
        Entry(
            key=f"{key}:{place}",
            what=what,
            source=source,
            target=target,
            sats=Sats(part),
            organization_id=organization_id,
            order_id=order_id,
        )
        for place, target, part in (
            ("receivable", receivable(organization_id), repaid),
            ("credit", credit(organization_id), sats - repaid),
        )
        if part
    ]


def granted(entry: Entry, *, outstanding: int) -> list[Entry]:
    """Give a coupon's or a correction's money: a debt of the kind above comes first.

    The first part has the entry's own key, so that it is given once however it is
    divided; `parts` names them all.
    """
    if entry.organization_id is None:
        raise ValueError("credit is somebody's")
    repaid = min(entry.sats, outstanding)
    places = (
        (receivable(entry.organization_id), repaid),
        (credit(entry.organization_id), entry.sats - repaid),
    )
    divided = [(target, sats) for target, sats in places if sats]
    return [
        replace(entry, key=key, target=target, sats=Sats(sats))
        for key, (target, sats) in zip(parts(entry.key), divided, strict=False)
    ]


def parts(key: str) -> Iterable[str]:
    """Name all entries that what is granted under a key may have been divided into."""
    return key, f"rest of {key}"


def taken_back(
    sats: int,
    *,
    organization_id: str,
    available: int,
    key: str,
    order_id: str,
) -> list[Entry]:
    """Take back money that never was: from credit as far as it goes, then as a debt.

    `available` is the credit that may be taken.
    """
    from_credit = min(sats, available)
    return [
        Entry(
            key=f"{key}:{place}",
            what=What.REVERSED,
            source=source,
            target=RECEIVED,
            sats=Sats(part),
            organization_id=organization_id,
            order_id=order_id,
        )
        for place, source, part in (
            ("credit", credit(organization_id), from_credit),
            ("receivable", receivable(organization_id), sats - from_credit),
        )
        if part
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
    """Return what releases all that an order holds, each part to where it came from.

    A held HTLC is handed back to its payer, what was charged to
    a corporate account is taken off again as far as it is still owed, and the rest is
    the organization's: a bill that was paid meanwhile was paid with its money.
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
            ("promised", What.HANDED_BACK, HELD_HTLCS, to_payer),
            ("owed", What.RELEASED, owed(organization_id), to_account),
        )
        if sats
    ]
    return entries + given(
        holds - to_payer - to_account,
        organization_id=organization_id,
        outstanding=outstanding,
        source=held(order_id),
        what=What.RELEASED,
        key=key,
        order_id=order_id,
    )


def credited(entries: list[Entry]) -> Sats:
    """Give what the entries add to somebody's credit."""
    return Sats(sum(each.sats for each in entries if each.target.startswith("credit:")))
