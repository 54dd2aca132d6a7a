"""Customers see their own side of an entry, whatever stands on the other."""

from datetime import UTC, datetime

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.rules import ledger
from leyden.channels.rules.customer_ledger import (
    CustomerEntry,
    EntryKind,
    customer_entry,
)
from leyden.channels.rules.ledger import Entry, Reason

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HARBOUR, ORDER = "harbour", "5b0cFO"
OWN = {
    ledger.credit(HARBOUR): "credit",
    ledger.held(ORDER): "held",
    ledger.owed(HARBOUR): "owed",
    ledger.receivable(HARBOUR): "receivable",
}


def an_entry(what: Reason, source: str, target: str, key: str = "key") -> Entry:
    return Entry(key=key, what=what, source=source, target=target, sats=Sats(21))


@pytest.mark.parametrize("account", OWN)
@pytest.mark.parametrize("operators", ledger.OPERATORS)
def test_the_operators_accounts_are_outside(account: str, operators: str) -> None:
    shown = customer_entry(7, NOON, an_entry(Reason.CORRECTION, account, operators))
    assert (shown.source, shown.target) == (OWN[account], "outside")
    shown = customer_entry(7, NOON, an_entry(Reason.CORRECTION, operators, account))
    assert (shown.source, shown.target) == ("outside", OWN[account])


def test_every_place_but_an_organizations_is_the_operators() -> None:
    accounts = {
        getattr(ledger, name)
        for name in vars(ledger)
        if name.isupper() and isinstance(getattr(ledger, name), str)
    }
    others = {
        ledger.UNUSED_FEE,
        ledger.UNDONE,
        ledger.EXTENSION,
        ledger.PLATFORM,
    }
    assert accounts - others == set(ledger.OPERATORS)


@pytest.mark.parametrize("what", Reason)
def test_every_reason_means_something_to_the_customer(what: Reason) -> None:
    kind = customer_entry(7, NOON, an_entry(what, "promo", "credit:harbour")).kind
    theirs = {
        Reason.AUCTION: "filled",
        Reason.EARNED: "filled",
        Reason.HTLC_HELD: "payment",
    }
    assert kind == theirs.get(what, str(what))


def test_what_the_auction_left_is_an_unused_fee() -> None:
    keyed = ledger.release(
        order_id=ORDER,
        organization_id=HARBOUR,
        holds=21,
        held_htlc=0,
        charged=0,
        owes=0,
        outstanding=0,
        key=f"{ledger.UNUSED_FEE}{ORDER}",
    )
    (shown,) = (customer_entry(7, NOON, entry) for entry in keyed)
    assert shown == CustomerEntry(
        number=7,
        at=NOON,
        kind=EntryKind.UNUSED_FEE,
        source="held",
        target="credit",
        sats=Sats(21),
        order_id=ORDER,
        note="",
    )


def test_what_belongs_to_no_order_names_none() -> None:
    coupon = an_entry(Reason.COUPON, "promo", "credit:harbour")
    assert customer_entry(7, NOON, coupon).order_id == ""
