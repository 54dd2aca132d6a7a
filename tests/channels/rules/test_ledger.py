from collections import Counter
from collections.abc import Iterable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.base.rules.units import Sats
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason

SUMS = st.integers(0, 10**9)


def balances(entries: Iterable[Entry]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for entry in entries:
        assert entry.sats > 0
        assert entry.source != entry.target
        sums[entry.source] -= entry.sats
        sums[entry.target] += entry.sats
    return sums


@pytest.mark.parametrize(
    ("account", "may"),
    [
        ("received", True),
        ("promised", True),
        ("promo", True),
        ("corrections", True),
        (ledger.owed("harbour"), True),
        (ledger.receivable("harbour"), True),
        (ledger.credit("harbour"), False),
        (ledger.held("5b0cFO"), False),
        ("earned", False),
        ("auction", False),
        ("refunded", False),
    ],
)
def test_where_money_may_come_from(account: str, may: bool) -> None:  # noqa: FBT001
    assert ledger.may_go_below_zero(account) is may


@pytest.mark.parametrize(
    ("account", "owner"),
    [
        (ledger.held("5b0cFO"), "5b0cFO"),
        (ledger.credit("harbour"), "harbour"),
        ("received", ""),
    ],
)
def test_whose_a_place_is(account: str, owner: str) -> None:
    assert ledger.owner(account) == owner


@given(sats=SUMS, outstanding=SUMS)
def test_what_is_owed_to_us_is_paid_before_credit(sats: int, outstanding: int) -> None:
    entries = ledger.payment_entries(
        sats,
        organization_id="harbour",
        outstanding=outstanding,
        source="received",
        what=Reason.LATE,
        key="chain:ab:0#1",
    )
    sums = balances(entries)
    assert sum(sums.values()) == 0
    assert sums["received"] == -sats
    assert sums["receivable:harbour"] == min(sats, outstanding)
    assert sums["credit:harbour"] == max(sats - outstanding, 0)
    assert ledger.credit_total(entries) == sums["credit:harbour"]
    assert len({entry.key for entry in entries}) == len(entries)


def test_a_payment_is_booked_in_parts_that_are_told_apart() -> None:
    booked = partial(
        Entry,
        what=Reason.LATE,
        source="received",
        organization_id="harbour",
        order_id="5b0cFO",
    )
    assert ledger.payment_entries(
        100,
        organization_id="harbour",
        outstanding=30,
        source="received",
        what=Reason.LATE,
        key="chain:ab:0#1",
        order_id="5b0cFO",
    ) == [
        booked(
            key="chain:ab:0#1:receivable", target="receivable:harbour", sats=Sats(30)
        ),
        booked(key="chain:ab:0#1:credit", target="credit:harbour", sats=Sats(70)),
    ]


@given(sats=st.integers(1, 10**9), outstanding=SUMS)
def test_what_is_granted_repays_a_debt_under_its_one_key(
    sats: int, outstanding: int
) -> None:
    coupon = Entry(
        key="coupon:5b0cFC",
        what=Reason.COUPON,
        source=ledger.PROMO,
        target=ledger.credit("harbour"),
        sats=Sats(sats),
        organization_id="harbour",
        actor="operator:alice",
        note="for the storm",
    )
    entries = ledger.grant_entries(coupon, outstanding=outstanding)
    sums = balances(entries)
    assert sums["promo"] == -sats
    assert sums["receivable:harbour"] == min(sats, outstanding)
    assert sums["credit:harbour"] == max(sats - outstanding, 0)
    assert entries[0].key == coupon.key
    keys = [each.key for each in entries]
    assert keys == list(ledger.parts(coupon.key))[: len(entries)]
    assert {(each.what, each.actor, each.note) for each in entries} == {
        (coupon.what, coupon.actor, coupon.note)
    }


def test_a_grant_has_two_keys_at_the_most() -> None:
    assert tuple(ledger.parts("coupon:1")) == ("coupon:1", "rest of coupon:1")


def test_what_is_granted_is_somebodys() -> None:
    nobodys = Entry(
        key="coupon:1",
        what=Reason.COUPON,
        source=ledger.PROMO,
        target=ledger.credit("harbour"),
        sats=Sats(1),
    )
    with pytest.raises(ValueError, match="somebody's"):
        ledger.grant_entries(nobodys, outstanding=0)


@given(sats=SUMS, available=SUMS)
def test_a_spent_credit_becomes_a_receivable(sats: int, available: int) -> None:
    sums = balances(
        ledger.reversal_entries(
            sats,
            organization_id="harbour",
            available=available,
            key="chain:ab:0#1:reversed",
            order_id="5b0cFO",
        )
    )
    assert sum(sums.values()) == 0
    assert sums["received"] == sats
    assert sums["credit:harbour"] == -min(sats, available)
    assert sums["receivable:harbour"] == -max(sats - available, 0)


def test_a_reversal_is_booked_in_parts_that_are_told_apart() -> None:
    booked = partial(
        Entry,
        what=Reason.REVERSED,
        target="received",
        organization_id="harbour",
        order_id="5b0cFO",
    )
    key = "chain:ab:0#1:reversed"
    assert ledger.reversal_entries(
        100, organization_id="harbour", available=30, key=key, order_id="5b0cFO"
    ) == [
        booked(key=f"{key}:credit", source="credit:harbour", sats=Sats(30)),
        booked(key=f"{key}:receivable", source="receivable:harbour", sats=Sats(70)),
    ]


@given(holds=SUMS, held_htlc=SUMS, charged=SUMS, owes=SUMS, outstanding=SUMS)
def test_an_ended_order_holds_nothing(
    holds: int, held_htlc: int, charged: int, owes: int, outstanding: int
) -> None:
    sums = balances(
        ledger.release(
            order_id="5b0cFO",
            organization_id="harbour",
            holds=holds,
            held_htlc=held_htlc,
            charged=charged,
            owes=owes,
            outstanding=outstanding,
            key="cancelled:5b0cFO",
        )
    )
    assert sums["held:5b0cFO"] == -holds
    assert sum(sums.values()) == 0
    assert sums["promised"] == min(held_htlc, holds)
    assert sums["owed:harbour"] == min(charged, holds - sums["promised"], owes)
    assert sums["receivable:harbour"] <= outstanding
    if sums["credit:harbour"]:
        assert sums["receivable:harbour"] == outstanding


def test_a_release_is_booked_in_parts_that_are_told_apart() -> None:
    booked = partial(
        Entry,
        source="held:5b0cFO",
        organization_id="harbour",
        order_id="5b0cFO",
    )
    assert ledger.release(
        order_id="5b0cFO",
        organization_id="harbour",
        holds=100,
        held_htlc=10,
        charged=20,
        owes=20,
        outstanding=30,
        key="cancelled:5b0cFO",
    ) == [
        booked(
            key="cancelled:5b0cFO:promised",
            what=Reason.HANDED_BACK,
            target="promised",
            sats=Sats(10),
        ),
        booked(
            key="cancelled:5b0cFO:owed",
            what=Reason.RELEASED,
            target="owed:harbour",
            sats=Sats(20),
        ),
        booked(
            key="cancelled:5b0cFO:receivable",
            what=Reason.RELEASED,
            target="receivable:harbour",
            sats=Sats(30),
        ),
        booked(
            key="cancelled:5b0cFO:credit",
            what=Reason.RELEASED,
            target="credit:harbour",
            sats=Sats(40),
        ),
    ]


def test_only_credit_adds_to_credit() -> None:
    entries = ledger.payment_entries(
        100,
        organization_id="harbour",
        outstanding=30,
        source="received",
        what=Reason.LATE,
        key="chain:ab:0#1",
    )
    assert ledger.credit_total(entries) == 70
    assert ledger.credit_total([]) == 0


def test_of_a_channel_that_never_comes_what_was_spent_is_undone() -> None:
    booked = partial(Entry, source="held:5b0cFO", organization_id="harbour")
    auction = booked(
        key="5b0cFO:auction", what=Reason.AUCTION, target="auction", sats=Sats(20)
    )
    earned = booked(
        key="5b0cFO:earned", what=Reason.EARNED, target="earned", sats=Sats(1)
    )
    stored = booked(
        key="unused:5b0cFO", what=Reason.RELEASED, target="credit:harbour", sats=Sats(5)
    )
    assert ledger.undone([auction, stored, earned]) == [
        Entry(
            key=f"undone:{each.key}",
            what=each.what,
            source=each.target,
            target="held:5b0cFO",
            sats=each.sats,
            organization_id="harbour",
            note="the channel can never come",
        )
        for each in (auction, earned)
    ]
