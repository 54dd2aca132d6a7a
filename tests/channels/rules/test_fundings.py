"""Where a funding transaction stands, and when a child pays for it, and how much."""

from typing import Any

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.fundings import (
    CHILD_VBYTES,
    Bump,
    ChainView,
    Funding,
    FundingRules,
    FundingState,
    Obstacle,
    WalletTransaction,
    follow,
)
from leyden.channels.direct.rules.openings import Coin
from leyden.channels.rules.payments import Outpoint

_RULES = FundingRules(bump_after=2, bump_again=2, highest_sat_per_vb=40)
_COIN, _OTHER = Outpoint("aa" * 32, 0), Outpoint("aa" * 32, 1)
_CHANGE = Outpoint("bb" * 32, 1)
_VBYTES = 154
_BUDGET = 40 * (_VBYTES + CHILD_VBYTES) - 308  # of a child that pays the highest rate

_UNCONFIRMED = FundingState.UNCONFIRMED


def a_funding(**changes: Any) -> Funding:
    return Funding(
        **{
            "order_id": "1FO",
            "organization_id": "1",
            "channel_point": f"{'bb' * 32}:0",
            "peer": "02",
            "coins": (_COIN, _OTHER),
            "since": 100,
            **changes,
        }
    )


def a_parent(**changes: Any) -> WalletTransaction:
    """Return the funding transaction in its wallet: it pays 2 sat/vB."""
    return WalletTransaction(
        **{
            "txid": "bb" * 32,
            "confirmations": 0,
            "fee": Sats(308),
            "vbytes": _VBYTES,
            "spends": (_COIN, _OTHER),
            "ours": (Coin(sats=Sats(700_000), outpoint=_CHANGE),),
            **changes,
        }
    )


def a_child(fee: int) -> WalletTransaction:
    return WalletTransaction(
        txid=f"{fee:064x}",
        confirmations=0,
        fee=Sats(fee),
        vbytes=CHILD_VBYTES,
        spends=(_CHANGE,),
    )


def a_rival(confirmations: int, **changes: Any) -> WalletTransaction:
    return WalletTransaction(
        **{
            "txid": "dd" * 32,
            "confirmations": confirmations,
            "fee": Sats(999),
            "vbytes": 200,
            "spends": (Outpoint("ee" * 32, 7), _OTHER),
            "proven": True,
            **changes,
        }
    )


def chain_with(
    *transactions: WalletTransaction, height: int = 104, sat_per_vb: int = 10
) -> ChainView:
    return ChainView(height=height, sat_per_vb=sat_per_vb, transactions=transactions)


# Where it stands.


@pytest.mark.parametrize(
    ("confirmations", "proven", "state"),
    [
        (1, True, FundingState.CONFIRMED),
        (1, False, FundingState.CONFIRMED),
        (99, True, FundingState.CONFIRMED),
        (100, True, FundingState.BURIED),
        (100, False, FundingState.CONFIRMED),  # its block may be in no chain
    ],
)
def test_a_transaction_is_buried_once_its_block_is_proven_and_deep(
    confirmations: int, state: FundingState, *, proven: bool
) -> None:
    parent = a_parent(confirmations=confirmations, proven=proven)
    assert follow(a_funding(), chain_with(parent), _RULES) == (state, Obstacle.NONE)


def test_of_a_transaction_that_the_wallet_has_twice_that_in_the_chain_counts() -> None:
    waiting, confirmed = a_parent(), a_parent(confirmations=3, proven=True)
    for both in ((waiting, confirmed), (confirmed, waiting)):
        assert follow(a_funding(), chain_with(*both), _RULES) == (
            FundingState.CONFIRMED,
            Obstacle.NONE,
        )


def test_a_transaction_that_was_reorganised_is_not_bumped_at_once() -> None:
    funding = a_funding(state=FundingState.CONFIRMED)
    assert follow(funding, chain_with(a_parent()), _RULES) == (
        _UNCONFIRMED,
        Obstacle.NONE,
    )


@pytest.mark.parametrize("has_parent", [True, False])
@pytest.mark.parametrize(
    ("confirmations", "proven", "lost"),
    [
        (1, True, False),
        (5, True, False),
        (6, True, True),
        (100, True, True),
        (6, False, False),  # its block may be in no chain
    ],
)
def test_a_transaction_is_lost_once_another_has_its_coin_for_good(
    confirmations: int, *, proven: bool, lost: bool, has_parent: bool
) -> None:
    rival = a_rival(confirmations, proven=proven)
    chain = chain_with(*([a_parent()] if has_parent else []), rival)
    assert follow(a_funding(), chain, _RULES) == (
        (FundingState.LOST, Obstacle.NONE)
        if lost
        else (_UNCONFIRMED, Obstacle.CONFLICT)
    )


@pytest.mark.parametrize(
    "others",
    [
        (),
        (a_rival(0),),  # no block has it: it may never have one
        (a_rival(6, spends=(Outpoint("ee" * 32, 7), Outpoint("aa" * 32, 2))),),
    ],
)
def test_a_transaction_that_the_wallet_lost_and_nothing_replaces_has_vanished(
    others: tuple[WalletTransaction, ...],
) -> None:
    assert follow(a_funding(), chain_with(*others), _RULES) == (
        _UNCONFIRMED,
        Obstacle.VANISHED,
    )


# When it is bumped.


@pytest.mark.parametrize(
    ("since", "bumps", "bumped", "bumps_now"),
    [
        (103, 0, 0, False),
        (102, 0, 0, True),
        (100, 1, 103, False),
        (100, 1, 102, True),
        (103, 1, 102, False),
    ],
)
def test_a_transaction_is_bumped_after_some_blocks_and_again_after_some(
    since: int, bumps: int, bumped: int, *, bumps_now: bool
) -> None:
    funding = a_funding(since=since, bumps=bumps, bumped=bumped)
    state, needed = follow(funding, chain_with(a_parent()), _RULES)
    assert state is _UNCONFIRMED
    assert isinstance(needed, Bump) is bumps_now
    assert bumps_now or needed is Obstacle.NONE


@pytest.mark.parametrize(
    ("before", "stays"),
    [
        (Obstacle.NONE, Obstacle.NONE),
        (Obstacle.CAPPED, Obstacle.CAPPED),
        (Obstacle.NO_CHANGE, Obstacle.NO_CHANGE),
        (Obstacle.FORBIDDEN, Obstacle.FORBIDDEN),
        (Obstacle.REFUSED, Obstacle.REFUSED),
        (Obstacle.CONFLICT, Obstacle.NONE),
        (Obstacle.VANISHED, Obstacle.NONE),
    ],
)
def test_what_kept_the_last_bump_from_helping_stays_until_the_next(
    before: Obstacle, stays: Obstacle
) -> None:
    """What the wallet shows no more is over."""
    funding = a_funding(since=103, obstacle=before)
    assert follow(funding, chain_with(a_parent()), _RULES) == (_UNCONFIRMED, stays)


# What a bump pays.


@pytest.mark.parametrize(
    ("fee", "estimate", "rate"),
    [
        (308, 10, 10),  # as the chain asks
        (308, 1, 3),  # a satoshi more at least
        (461, 1, 3),  # of 2.99
        (154, 1, 2),
        (1_391, 1, 11),  # a quarter more: of 9.03
        (1_391, 12, 12),
        (308, 100, 40),  # not more than the operator allows
        (6_159, 1, 40),
    ],
)
def test_a_child_pays_for_both_what_the_chain_asks(
    fee: int, estimate: int, rate: int
) -> None:
    chain = chain_with(a_parent(fee=Sats(fee)), sat_per_vb=estimate)
    assert follow(a_funding(), chain, _RULES) == (
        _UNCONFIRMED,
        Bump(
            outpoint=_CHANGE,
            sat_per_vb=rate,
            fee=Sats(rate * (_VBYTES + CHILD_VBYTES) - fee),
        ),
    )


@pytest.mark.parametrize("fee", [40 * _VBYTES, 41 * _VBYTES])
def test_what_pays_the_highest_rate_is_not_bumped(fee: int) -> None:
    assert follow(a_funding(), chain_with(a_parent(fee=Sats(fee))), _RULES) == (
        _UNCONFIRMED,
        Obstacle.CAPPED,
    )


def test_a_child_pays_a_quarter_more_than_the_dearest_before_it() -> None:
    """308 and 2,400 of 265 vB are 10.2 sat/vB: 12 are 3,180, less 308."""
    funding = a_funding(bumps=2, bumped=102)
    for fees in ((2_400, 500), (500, 2_400)):
        chain = chain_with(a_parent(), *map(a_child, fees), sat_per_vb=1)
        assert follow(funding, chain, _RULES) == (
            _UNCONFIRMED,
            Bump(outpoint=_CHANGE, sat_per_vb=12, fee=Sats(2_872)),
        )


@pytest.mark.parametrize(
    ("paid", "again"),
    [
        (_BUDGET, False),
        (_BUDGET - 1, False),  # lnd rounds
        (_BUDGET - CHILD_VBYTES + 1, False),  # no node would relay the next one
        (_BUDGET - CHILD_VBYTES, True),
    ],
)
def test_a_child_is_replaced_by_one_that_nodes_relay(paid: int, *, again: bool) -> None:
    funding = a_funding(bumps=1, bumped=102)
    chain = chain_with(a_parent(), a_child(paid), sat_per_vb=100)
    state, needed = follow(funding, chain, _RULES)
    assert state is FundingState.UNCONFIRMED
    if again:
        assert isinstance(needed, Bump)
        assert needed.fee == _BUDGET
    else:
        assert needed is Obstacle.CAPPED


def test_the_largest_output_of_ours_pays() -> None:
    small = Coin(sats=Sats(5_000), outpoint=Outpoint("bb" * 32, 2))
    large = Coin(sats=Sats(700_000), outpoint=_CHANGE)
    for ours in ((small, large), (large, small)):
        _, needed = follow(a_funding(), chain_with(a_parent(ours=ours)), _RULES)
        assert isinstance(needed, Bump)
        assert needed.outpoint == _CHANGE


@pytest.mark.parametrize(
    ("change", "pays"), [(3_342, True), (3_341, False), (None, False)]
)
def test_a_change_too_small_to_pay_and_be_relayed_pays_for_nothing(
    change: int | None, *, pays: bool
) -> None:
    """10 sat/vB of 265 vB are 2,650: the child pays 2,342 and leaves 1,000."""
    ours = () if change is None else (Coin(sats=Sats(change), outpoint=_CHANGE),)
    _, needed = follow(a_funding(), chain_with(a_parent(ours=ours)), _RULES)
    if pays:
        assert needed == Bump(outpoint=_CHANGE, sat_per_vb=10, fee=Sats(2_342))
    else:
        assert needed is Obstacle.NO_CHANGE
