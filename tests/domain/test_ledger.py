from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.domain import ledger
from leyden.domain.ledger import Entry, What
from leyden.domain.units import Sats

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
    ("place", "may"),
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
def test_where_money_may_come_from(place: str, may: bool) -> None:  # noqa: FBT001
    assert ledger.may_go_below_zero(place) is may


@given(sats=SUMS, outstanding=SUMS)
def test_what_is_owed_to_us_is_paid_before_credit(sats: int, outstanding: int) -> None:
    entries = ledger.given(
        sats,
        organization_id="harbour",
        outstanding=outstanding,
        source="received",
        what=What.LATE,
        key="chain:ab:0#1",
    )
    sums = balances(entries)
    assert sum(sums.values()) == 0
    assert sums["received"] == -sats
    assert sums["receivable:harbour"] == min(sats, outstanding)
    assert sums["credit:harbour"] == max(sats - outstanding, 0)
    assert ledger.credited(entries) == sums["credit:harbour"]
    assert len({entry.key for entry in entries}) == len(entries)


@given(sats=st.integers(1, 10**9), outstanding=SUMS)
def test_what_is_granted_repays_a_debt_under_its_one_key(
    sats: int, outstanding: int
) -> None:
    coupon = Entry(
        key="coupon:5b0cFC",
        what=What.COUPON,
        source=ledger.PROMO,
        target=ledger.credit("harbour"),
        sats=Sats(sats),
        organization_id="harbour",
        actor="operator:alice",
        note="for the storm",
    )
    entries = ledger.granted(coupon, outstanding=outstanding)
    sums = balances(entries)
    assert sums["promo"] == -sats
    assert sums["receivable:harbour"] == min(sats, outstanding)
    assert sums["credit:harbour"] == max(sats - outstanding, 0)
    assert entries[0].key == coupon.key
    assert {each.key for each in entries} <= set(ledger.parts(coupon.key))
    assert {(each.what, each.actor, each.note) for each in entries} == {
        (coupon.what, coupon.actor, coupon.note)
    }


@given(sats=SUMS, available=SUMS)
def test_a_spent_credit_becomes_a_receivable(sats: int, available: int) -> None:
    sums = balances(
        ledger.taken_back(
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
