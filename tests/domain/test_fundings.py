"""When the child that pays for a funding transaction is replaced."""

import pytest

from leyden.domain.fundings import (
    CHILD_VBYTES,
    Bump,
    Chain,
    Funding,
    FundingRules,
    FundingState,
    Obstacle,
    WalletTransaction,
    follow,
)
from leyden.domain.openings import Coin
from leyden.domain.payments import Outpoint
from leyden.domain.units import Sats

_RULES = FundingRules(bump_after=2, bump_again=2, highest_sat_per_vb=40)
_COIN, _CHANGE = Outpoint("aa" * 32, 0), Outpoint("bb" * 32, 1)
_VBYTES = 154
_BUDGET = 40 * (_VBYTES + CHILD_VBYTES) - 308  # of a child that pays the highest rate


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
    funding = Funding(
        order_id="1FO",
        organization_id="1",
        channel_point=f"{'bb' * 32}:0",
        peer="02",
        coins=(_COIN,),
        since=100,
        bumps=1,
        bumped=102,
    )
    parent = WalletTransaction(
        txid="bb" * 32,
        confirmations=0,
        fee=Sats(308),
        vbytes=_VBYTES,
        spends=(_COIN,),
        ours=(Coin(sats=Sats(700_000), outpoint=_CHANGE),),
    )
    child = WalletTransaction(
        txid="cc" * 32,
        confirmations=0,
        fee=Sats(paid),
        vbytes=CHILD_VBYTES,
        spends=(_CHANGE,),
    )
    chain = Chain(height=104, sat_per_vb=100, transactions=[parent, child])
    state, needed = follow(funding, chain, _RULES)
    assert state is FundingState.UNCONFIRMED
    if again:
        assert isinstance(needed, Bump)
        assert needed.fee == _BUDGET
    else:
        assert needed is Obstacle.CAPPED
